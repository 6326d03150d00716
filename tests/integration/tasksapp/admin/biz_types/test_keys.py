"""The page of a biz type's flow keys: what waits, what is paused, and who may pause."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from delayhub.local.redis_server import RedisServer
from tasksapp import jobs
from tasksapp.biz_types import flow_keys
from tasksapp.models import BizType, Job, PausedKey
from tasksapp.timers import lanes

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def keeper(person: Client, settings: Any, redis_server: RedisServer) -> Client:
    """A superuser's browser, where Redis answers."""
    settings.DELAYHUB = {"REDIS_URL": redis_server.url, "ARM_TIMEOUT_SECONDS": 5.0}
    lanes.try_again()
    return person


def page(biz_type: BizType, name: str = "keys") -> str:
    return reverse(f"admin:tasksapp_biztype_{name}", args=[biz_type.pk])


def test_the_page_shows_keys_and_leads_to_their_jobs(keeper: Client, biz_type: BizType) -> None:
    jobs.create_many([jobs.JobRequest(biz_type=biz_type.code, flow_key="<customer-7>", delay=60) for _ in range(1234)])

    with CaptureQueriesContext(connection) as queries:
        answer = keeper.get(page(biz_type))
    text = answer.content.decode()

    assert "&lt;customer-7&gt;" in text
    assert "1,234" in text
    assert len(queries) <= 14  # 12, session and user
    url = next(row.jobs_url for row in answer.context["rows"])
    assert "flow_key=%3Ccustomer-7%3E" in url
    listed = keeper.get(url)
    assert "flow key is “&lt;customer-7&gt;”" in listed.content.decode()
    job = keeper.get(reverse("admin:tasksapp_job_change", args=[Job.objects.all()[0].id]))
    assert "&lt;customer-7&gt;" in job.content.decode()


def test_a_key_is_looked_for_by_its_name(keeper: Client, biz_type: BizType) -> None:
    jobs.create(biz_type.code, flow_key="customer-7", delay=60)

    found = keeper.get(page(biz_type), {"key": "customer-7"})
    none = keeper.get(page(biz_type), {"key": "nobody"})
    wrong = keeper.get(page(biz_type), {"key": "a:b"})

    assert [row.waiting for row in found.context["rows"]] == ["1"]
    assert [row.waiting for row in none.context["rows"]] == ["0"]
    assert "no colon" in wrong.content.decode()


def test_a_key_is_paused_and_resumed_with_a_reason(keeper: Client, biz_type: BizType) -> None:
    jobs.create(biz_type.code, flow_key="customer-7")

    answer = keeper.post(
        page(biz_type), {"flow_key": "customer-7", "reason": "its receiver is down", "length": "resumed"}, follow=True
    )
    text = answer.content.decode()

    assert "its receiver is down" in text
    assert [row.note for row in answer.context["rows"]] == ["paused"]
    assert PausedKey.objects.get().paused_by == "admin"
    resumed = keeper.post(page(biz_type, "resume_key"), {"flow_key": "customer-7"}, follow=True)
    assert "is resumed" in resumed.content.decode()
    assert not PausedKey.objects.exists()


@pytest.mark.parametrize(
    ("typed", "field"),
    [({"flow_key": "a:b", "reason": "x"}, "flow_key"), ({"flow_key": "a", "reason": ""}, "reason")],
)
def test_what_cannot_be_paused_is_said_at_its_field(
    person: Client, biz_type: BizType, typed: dict[str, Any], field: str
) -> None:
    answer = person.post(page(biz_type), {"length": "resumed", **typed})

    assert list(answer.context["form"].errors) == [field]
    assert not PausedKey.objects.exists()


def test_without_the_permission_to_pause_the_page_only_shows(
    client: Client, django_user_model: Any, biz_type: BizType
) -> None:
    viewer = django_user_model.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_biztype"))
    client.force_login(viewer)
    flow_keys.pause_key(biz_type, "customer-7")

    shown = client.get(page(biz_type))

    assert shown.status_code == 200
    assert shown.context["form"] is None
    assert client.post(page(biz_type), {"flow_key": "a", "reason": "x", "length": "resumed"}).status_code == 403
    assert client.post(page(biz_type, "resume_key"), {"flow_key": "customer-7"}).status_code == 403
    assert client.get(page(biz_type, "resume_key")).status_code == 403
    assert PausedKey.objects.count() == 1


def test_without_redis_the_page_says_so(person: Client, biz_type: BizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert "Redis does not answer" in person.get(page(biz_type)).content.decode()


def test_a_key_that_is_blocked_leads_to_the_job_that_blocks_it(keeper: Client, biz_type: BizType) -> None:
    biz_type.ordered = BizType.Ordered.BLOCKS
    biz_type.save()
    first, second = (jobs.create(biz_type.code, flow_key="customer-7").job_id for _ in range(2))

    none = keeper.get(page(biz_type)).content.decode()
    found = keeper.get(page(biz_type), {"key": "customer-7"}).content.decode()
    waits = keeper.get(reverse("admin:tasksapp_job_change", args=[second])).content.decode()

    assert "No job has kept others of its key waiting for long." in none
    assert reverse("admin:tasksapp_job_change", args=[first]) in found
    assert f"run in their order, and job {first} (pending) comes first" in waits
