"""What was to follow from a job and could not be made is told, and is made again by hand: once."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.access.keys import issue_key
from tasksapp.alerts.conditions import biz_type_judgement, biz_type_work
from tasksapp.alerts.sentences import sentence_of
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import InvalidJob, JobNotFound
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.models import AlertKind, AuditEntry, BizType, Job, MissingFollowUp, Tombstone
from tasksapp.sql.purge_rows import purge_jobs
from tasksapp.sql.tombstones import prune_tombstones
from tasksapp.timers.lanes import client as redis
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import tried

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


@pytest.fixture
def told(make_biz_type: MakeBizType) -> BizType:
    """The biz type whose jobs follow; it is disabled."""
    return make_biz_type("report", enabled=False)


@pytest.fixture
def ended(told: BizType, make_biz_type: MakeBizType) -> Callable[..., UUID]:
    """Makes a job that has ended, of which nothing follows."""
    make_biz_type("order.close", on_success="report", on_dead="report", max_attempts=1)

    def end() -> UUID:
        job_id = due(biz_id="42", body={"amount": 3})
        held = Claimer(clock=RedisClock(redis), worker="w", using="default")
        (job,) = held.running_jobs(held.claim_due([job_id], now_ms=0))
        failed = completion.failed(job, tried=tried(error="e" * 490), error_class="http.503", now=timezone.now())
        Completer(clock=SystemClock(), worker="w", using="default").complete([Completion(job, failed)])
        return job_id

    return end


def enable(biz_type: BizType) -> None:
    BizType.objects.filter(pk=biz_type.pk).update(enabled=True)
    biz_type_cache.clear()


def followed() -> list[dict[str, Any]]:
    return [
        json.loads(body)["follows"]
        for body in Job.objects.filter(biz_type__code="report").values_list("body", flat=True)
    ]


def judged() -> list[tuple[str, dict[str, Any]]]:
    now = timezone.now()
    found = biz_type_judgement(biz_type_work(now=now, using="default"), now=now, using="default")
    return [(each.kind, dict(each.facts)) for each in found.conditions if each.kind == AlertKind.NO_FOLLOW_UP]


def test_what_is_missing_is_told_and_made_once_its_cause_is_mended(told: BizType, ended: Callable[..., UUID]) -> None:
    job_id = ended()

    assert Job.objects.get(id=job_id).last_error.endswith("no job of report follows: the biz type report is disabled")
    ((kind, facts),) = judged()
    assert (facts["jobs"], facts["job_id"]) == (1, str(job_id))
    assert f"the last is {job_id}" in sentence_of(kind, facts)
    with pytest.raises(InvalidJob, match="disabled"):
        jobs.follow_up_again(job_id)
    enable(told)

    made = jobs.follow_up_again(job_id, by=Actor("ada"), reason="enabled")

    assert Job.objects.get(id=made).biz_id == "42"
    assert [(one["id"], one["status"]) for one in followed()] == [(str(job_id), "dead")]
    assert "no job" not in Job.objects.get(id=job_id).last_error
    assert judged() == []
    with pytest.raises(InvalidJob, match="nothing is missing"):
        jobs.follow_up_again(job_id)
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.actor, entry.job_id, entry.after) == ("follow_up", "ada", job_id, {"job": str(made)})


def test_an_answer_is_told_too(told: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("ask", on_resolved="report")
    job_id = due("ask", biz_id="43", delay=HOUR)
    jobs.resolve("ask", "43", outcome="approved")
    assert Job.objects.get(id=job_id).last_error.startswith("resolved; no job of report follows")
    enable(told)

    jobs.follow_up_again(job_id)

    assert [one["answer"]["outcome"] for one in followed()] == ["approved"]
    assert Job.objects.get(id=job_id).last_error == "resolved"


def test_of_two_at_once_one_makes_it(told: BizType, ended: Callable[..., UUID]) -> None:
    job_id = ended()
    enable(told)

    def make() -> str:
        try:
            jobs.follow_up_again(job_id)
        except InvalidJob as error:
            return error.code
        return "made"

    assert sorted(at_once(make, make)) == ["made", "nothing_missing"]
    assert len(followed()) == 1


def test_nothing_is_made_of_what_is_not_missing(told: BizType, ended: Callable[..., UUID]) -> None:
    enable(told)
    done, waiting = ended(), due(biz_id="43", delay=HOUR)
    assert len(followed()) == 1

    for job_id in (done, waiting):
        with pytest.raises(InvalidJob, match="nothing is missing"):
            jobs.follow_up_again(job_id)
    with pytest.raises(JobNotFound):
        jobs.follow_up_again(UUID(int=1))


def test_an_end_without_an_attempt_is_another_too(told: BizType, ended: Callable[..., UUID], settings: Any) -> None:
    job_id = ended()
    enable(told)
    jobs.redrive(job_id)
    settings.DELAYHUB = {**settings.DELAYHUB, "MAX_SYSTEM_ERRORS": 1}
    held = Claimer(clock=RedisClock(redis), worker="w", using="default")
    (job,) = held.running_jobs(held.claim_due([job_id], now_ms=0))
    given_up = completion.given_back(job, reason="system", system_error=True)
    Completer(clock=SystemClock(), worker="w", using="default").complete([Completion(job, given_up)])

    assert [one["attempts"] for one in followed()] == [1]
    assert judged() == []
    with pytest.raises(InvalidJob, match="nothing is missing"):
        jobs.follow_up_again(job_id)


def test_an_answer_is_kept_until_what_follows_from_it_was_made(
    told: BizType, make_biz_type: MakeBizType, admin_client: Client
) -> None:
    make_biz_type("ask", on_resolved="report")
    job_id = due("ask", biz_id="43", delay=HOUR)
    jobs.resolve("ask", "43", outcome="approved", body={"by": "ada"})
    enable(told)
    page = reverse("admin:tasksapp_job_change", args=[job_id])
    Tombstone.objects.update(until=timezone.now() - HOUR)
    assert prune_tombstones(before=timezone.now(), using="default", limit=9) == 0
    assert "Make what follows again" in admin_client.get(page).content.decode()

    jobs.follow_up_again(job_id)

    assert [one["answer"]["body"] for one in followed()] == [{"by": "ada"}]
    assert "Make what follows again" not in admin_client.get(page).content.decode()
    assert prune_tombstones(before=timezone.now(), using="default", limit=9) == 1


def test_it_says_so_where_the_answer_is_kept_no_more(
    told: BizType, make_biz_type: MakeBizType, admin_client: Client
) -> None:
    make_biz_type("ask", on_resolved="report")
    job_id = due("ask", biz_id="43", delay=HOUR)
    jobs.resolve("ask", "43", outcome="approved")
    enable(told)
    Tombstone.objects.all().delete()
    page = reverse("admin:tasksapp_job_change", args=[job_id])

    assert "Make what follows again" not in admin_client.get(page).content.decode()
    with pytest.raises(InvalidJob, match="its answer is kept no more"):
        jobs.follow_up_again(job_id)


def test_a_dropped_job_lacks_nothing(told: BizType, ended: Callable[..., UUID], admin_client: Client) -> None:
    job_id = ended()
    page = reverse("admin:tasksapp_job_change", args=[job_id])
    assert "Make what follows again" in admin_client.get(page).content.decode()

    jobs.drop(job_id)

    assert "Make what follows again" not in admin_client.get(page).content.decode()
    with pytest.raises(InvalidJob, match="nothing is missing"):
        jobs.follow_up_again(job_id)


def test_another_end_after_a_redrive_is_another(told: BizType, ended: Callable[..., UUID]) -> None:
    job_id = ended()
    enable(told)
    jobs.redrive(job_id)

    with pytest.raises(InvalidJob, match="nothing is missing"):
        jobs.follow_up_again(job_id)
    Job.objects.filter(id=job_id).update(status="dead", attempts=2)
    with pytest.raises(InvalidJob, match="nothing is missing"):
        jobs.follow_up_again(job_id)


def test_a_long_error_leaves_room_for_it_and_an_encrypted_one_is_encrypted(
    told: BizType, ended: Callable[..., UUID], admin_client: Client
) -> None:
    BizType.objects.filter(code__in=["order.close", "report"]).update(encrypted=True)
    biz_type_cache.clear()
    job_id = ended()
    assert "no job of report" not in str(Job.objects.filter(id=job_id).values("last_error").get())
    assert Job.objects.get(id=job_id).last_error.endswith("no job of report follows: the biz type report is disabled")
    assert (
        "Make what follows again"
        in admin_client.get(reverse("admin:tasksapp_job_change", args=[job_id])).content.decode()
    )
    enable(told)

    jobs.follow_up_again(job_id)

    assert "no job" not in Job.objects.get(id=job_id).last_error
    assert Job.objects.filter(biz_type__code="report").count() == 1


def test_a_key_that_does_not_see_what_follows_makes_none(
    told: BizType, ended: Callable[..., UUID], client: Client
) -> None:
    job_id = ended()
    enable(told)
    seen = [BizType.objects.get(code="order.close").pk]
    own = issue_key("own", scopes=["jobs:act"], biz_type_ids=seen).key
    both = issue_key("both", scopes=["jobs:act"], biz_type_ids=[*seen, told.pk]).key

    def post(key: str) -> Any:
        headers: Any = {"authorization": f"Bearer {key}"}
        return client.post(f"/api/v1/jobs/{job_id}/follow-up", "{}", content_type="application/json", headers=headers)

    refused = post(own)

    assert (refused.status_code, "report" in refused.json()["detail"]) == (400, True)
    assert followed() == []
    assert post(both).status_code == 201


def test_who_names_another_version_makes_none_and_whoever_has_the_job_sees_the_change(
    told: BizType, ended: Callable[..., UUID], client: Client
) -> None:
    job_id = ended()
    enable(told)
    key = issue_key("caller", scopes=["jobs:read", "jobs:act"]).key
    headers: Any = {"authorization": f"Bearer {key}"}
    address = f"/api/v1/jobs/{job_id}"
    before = client.get(address, headers=headers)
    version = before.json()["version"]

    def post(seen: Any) -> Any:
        body = json.dumps({"version": seen})
        return client.post(f"{address}/follow-up", body, content_type="application/json", headers=headers)

    assert [post(version + 1).status_code, post("x").status_code, post(version).status_code] == [409, 400, 201]
    assert len(followed()) == 1
    after = client.get(address, headers={**headers, "if-none-match": before.headers["etag"]})
    assert after.status_code == 200
    assert "no job of" not in after.json()["last_error"]


def test_it_goes_with_its_job(ended: Callable[..., UUID]) -> None:
    job_id = ended()

    purge_jobs(Job.objects.get(id=job_id).biz_type_id, before=timezone.now() + HOUR, using="default")

    assert not MissingFollowUp.objects.exists()


def test_a_person_and_a_caller_make_it_who_may_run_jobs(
    told: BizType, ended: Callable[..., UUID], admin_client: Client, client: Client
) -> None:
    first, second = ended(), ended()
    page, make = (reverse(f"admin:tasksapp_job_{name}", args=[first]) for name in ("change", "follow_up"))
    enable(told)
    key = issue_key("caller", scopes=["jobs:act"]).key
    headers: Any = {"authorization": f"Bearer {key}"}
    address = f"/api/v1/jobs/{second}/follow-up"

    assert f'action="{make}"' in admin_client.get(page).content.decode()
    admin_client.get(make)
    assert "This job was missing" in admin_client.post(make, follow=True).content.decode()
    assert "nothing is missing" in admin_client.post(make, follow=True).content.decode()
    assert f'action="{make}"' not in admin_client.get(page).content.decode()
    answer = client.post(address, "{}", content_type="application/json", headers=headers)
    assert (answer.status_code, answer.json()["biz_type"]) == (201, "report")
    assert client.post(address, "{}", content_type="application/json", headers=headers).status_code == 400
    assert len(followed()) == 2
