"""Flow keys over REST: jobs that carry them, which wait, and those that are paused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.models import AuditEntry, BizType, Job, OrderedKey, Status
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem
from tests.integration.tasksapp.claiming import claim

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/biz-types/order.close/flow-keys"


def test_a_job_brings_its_key_and_lists_are_filtered_by_it(ask_fully: Ask, biz_type: BizType) -> None:
    made = ask_fully("POST", "/jobs", {"biz_type": "order.close", "flow_key": "customer-7", "delay": 60})
    ask_fully("POST", "/jobs", {"biz_type": "order.close", "delay": 60})

    listed = ask_fully("GET", "/jobs?flow_key=customer-7").json()["results"]

    assert made.json()["flow_key"] == "customer-7"
    assert [job["id"] for job in listed] == [made.json()["id"]]
    changed = ask_fully("PATCH", f"/jobs/{made.json()['id']}", {"flow_key": ""})
    assert changed.json()["flow_key"] == ""
    assert problem(ask_fully("POST", "/jobs", {"biz_type": "order.close", "flow_key": "a:b"}), 400)


def test_keys_that_wait_are_listed_with_what_is_due(ask_fully: Ask, biz_type: BizType) -> None:
    for delay in (0, 60):
        ask_fully("POST", "/jobs", {"biz_type": "order.close", "flow_key": "customer-7", "delay": delay})

    numbers = {"waiting": 2, "due": 1, "in_flight": 0}
    expected = {"flow_key": "customer-7", **numbers, "paused_until": None, "blocked_by": None}

    assert ask_fully("GET", PATH).json() == {"flow_keys": [expected], "is_whole": True, "paused": [], "blocked": []}
    assert ask_fully("GET", f"{PATH}?flow_key=customer-7").json()["flow_keys"] == [expected]
    assert ask_fully("GET", f"{PATH}?flow_key=nobody").json()["flow_keys"][0]["waiting"] == 0
    assert problem(ask_fully("GET", f"{PATH}?key=x"), 400)


def test_a_job_that_holds_up_its_key_is_named(ask_fully: Ask, biz_type: BizType) -> None:
    biz_type.ordered = BizType.Ordered.BLOCKS
    biz_type.save()
    asked = {"biz_type": "order.close", "flow_key": "customer-7"}
    first, second = (ask_fully("POST", "/jobs", asked).json() for _ in range(2))

    refused = ask_fully("POST", f"/jobs/{second['id']}/run")
    (named,) = ask_fully("GET", f"{PATH}?flow_key=customer-7").json()["flow_keys"]

    assert second["place"] > first["place"]
    assert (refused.status_code, refused.json()["code"], refused.json()["job_id"]) == (409, "not_first", first["id"])
    assert named["blocked_by"] == first["id"]
    assert ask_fully("GET", PATH).json()["blocked"] == []

    claim(UUID(first["id"]))
    OrderedKey.objects.update(begun_at=timezone.now() - timedelta(minutes=5))
    Job.objects.filter(id=first["id"]).update(status=Status.DEAD, finished_at=timezone.now())

    assert ask_fully("GET", PATH).json()["blocked"] == ["customer-7"]


def test_a_key_is_paused_and_resumed(ask_fully: Ask, biz_type: BizType) -> None:
    paused = ask_fully("POST", f"{PATH}/pause", {"flow_key": "customer-7", "reason": "it is down"})

    assert paused.json()["flow_key"] == "customer-7"
    assert ask_fully("GET", PATH).json()["paused"] == ["customer-7"]
    resumed = ask_fully("POST", f"{PATH}/resume", {"flow_key": "customer-7"})
    assert resumed.json() == {"flow_key": "customer-7", "paused_until": None}
    assert ask_fully("GET", PATH).json()["paused"] == []
    assert [entry.actor for entry in AuditEntry.objects.all()] == ["api:caller"] * 2


@pytest.mark.parametrize(
    "fields",
    [
        {"reason": "x"},
        {"flow_key": "", "reason": "x"},
        {"flow_key": "a{b", "reason": "x"},
        {"flow_key": "a"},
        {"flow_key": "a", "reason": "x", "until": "2001-01-01T00:00:00Z"},
        {"flow_key": "a", "reason": "x", "colour": "red"},
    ],
)
def test_a_pause_that_says_too_little_or_too_much_is_refused(
    ask_fully: Ask, biz_type: BizType, fields: dict[str, Any]
) -> None:
    assert problem(ask_fully("POST", f"{PATH}/pause", fields), 400)


def test_without_redis_the_list_says_so(ask_fully: Ask, biz_type: BizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert problem(ask_fully("GET", PATH), 503)["code"] == "redis_away"
    assert not Job.objects.exists()


def test_where_the_settings_name_no_redis_the_list_says_so_too(
    ask_fully: Ask, biz_type: BizType, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "sentinel://127.0.0.1:1/0"}

    assert problem(ask_fully("GET", PATH), 503)["code"] == "redis_away"
