"""Jobs by biz type and biz id: any characters, every verb, and no guess where several could be meant."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tasksapp.models import BizType, Job, Status
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db(transaction=True)

ODD = [
    "2027/01/42", "/", "//a//", "a/cancel", "cancel", "run/drop", "100%", "%2F", "a b+c", "?x=1#y", "bücher/日本", "🙂",
    "..", "a/../b", ".", "'\"<>", "a;b=c", "\\", "-" * 200,
]  # fmt: skip
KEYS = "/biz-types/order.close/jobs"


def path(biz_id: str) -> str:
    """The address of a job with that biz id."""
    return f"{KEYS}/{quote(biz_id, safe='')}"


@pytest.mark.parametrize("biz_id", ODD)
def test_a_biz_id_of_any_characters_is_read_changed_and_cancelled(ask: Ask, biz_type: BizType, biz_id: str) -> None:
    made = ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": biz_id, "delay": 3600}).json()

    read = ask("GET", path(biz_id))
    changed = ask("PATCH", path(biz_id), {"priority": 1}, **{"if-match": read["ETag"]})
    ran = ask("POST", f"{path(biz_id)}/run")
    cancelled = ask("POST", f"{path(biz_id)}/cancel", {"version": 3})

    assert [answer.json()["id"] for answer in (read, changed, ran, cancelled)] == [made["id"]] * 4
    assert (changed.json()["priority"], cancelled.json()["status"]) == (1, "cancelled")


def test_a_dead_job_is_redriven_and_dropped_by_its_key(ask: Ask, biz_type: BizType) -> None:
    store_job(biz_type, Status.SUCCEEDED, biz_id="42")
    dead = store_job(biz_type, Status.DEAD, biz_id="42")

    redriven = ask("POST", f"{KEYS}/42/redrive")
    Job.objects.filter(id=dead.id).update(status=Status.DEAD)
    dropped = ask("POST", f"{KEYS}/42/drop")

    assert (redriven.json()["id"], redriven.json()["status"]) == (str(dead.id), "pending")
    assert dropped.json()["status"] == "dropped"
    problem(ask("POST", f"{KEYS}/42/drop"), 404)


def test_where_several_could_be_meant_none_is_changed_and_the_newest_is_read(ask: Ask, biz_type: BizType) -> None:
    rows = [store_job(biz_type, Status.DEAD, biz_id="42") for _ in range(2)]

    refused = problem(ask("POST", f"{KEYS}/42/redrive"), 409)

    assert refused["code"] == "several_jobs"
    assert sorted(refused["ids"]) == sorted(str(row.id) for row in rows)
    assert ask("GET", f"{KEYS}/42").json()["id"] == max(str(row.id) for row in rows)
    assert set(Job.objects.values_list("status", flat=True)) == {"dead"}


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [
        ("GET", f"{KEYS}/none", 404),
        ("GET", "/biz-types/none/jobs/42", 404),
        ("GET", f"{KEYS}/%00", 404),
        ("GET", f"{KEYS}/{'x' * 201}", 404),
        ("POST", f"{KEYS}/none/cancel", 404),
        # an address that takes no POST, with a key that no verb ends
        ("POST", f"{KEYS}/42", 405),
        ("POST", f"{KEYS}/42/pause", 405),
        ("DELETE", f"{KEYS}/42/cancel", 405),
        # a job without a biz id has no business key
        ("GET", f"{KEYS}/", 404),
    ],
)
def test_what_is_not_there_is_a_problem(ask: Ask, biz_type: BizType, method: str, address: str, status: int) -> None:
    store_job(biz_type, biz_id="")

    problem(ask(method, address), status)


def test_a_read_waits_by_key_too(ask: Ask, biz_type: BizType) -> None:
    store_job(biz_type, Status.DEAD, biz_id="42")
    first: Any = ask("GET", f"{KEYS}/42?wait=50")

    assert first.status_code == 200, "a finished job changes no more, so nothing waits for it"
    assert ask("GET", f"{KEYS}/42", **{"if-none-match": first["ETag"]}).status_code == 304
