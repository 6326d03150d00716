"""A key that is lost: the biz type is held, its jobs wait, one alert says so, and nothing is sent."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
from celery import Celery
from cryptography.fernet import Fernet
from django.db import connection, transaction
from django.utils import timezone

from tasksapp import jobs, series
from tasksapp.access.actors import Actor
from tasksapp.alerts.conditions import biz_type_judgement, biz_type_work
from tasksapp.biz_types import editing, verbs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.target import target_of
from tasksapp.biz_types.unreadable import LATELY, REASON, hold, is_held
from tasksapp.errors import AlreadyAnswered
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.follow_ups import FOLLOWS
from tasksapp.models import UNTIL_RESUMED, AlertKind, BizType, Job, Status
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.sealable import UNREADABLE
from tasksapp.pulling.puller import Puller
from tasksapp.series.maker import SeriesMaker
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.task_runner import TaskRunner
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.receiver import Receiver
from tests.integration.tasksapp.stored_jobs import due
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

LOST, KEPT = (Fernet.generate_key().decode() for _ in range(2))


@pytest.fixture(autouse=True)
def _with_key(settings: Any) -> None:
    use(settings, LOST)


def use(settings: Any, *keys: str) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [*keys]}


def is_waited_for() -> bool:
    """Whether another connection waits for what this one has locked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def waits(job_id: Any) -> bool:
    """Whether the job is as it was, but for the reason and the time at which it is looked at again."""
    job = Job.objects.get(id=job_id)
    assert job.last_error == f"not sent: {UNREADABLE}"
    assert job.next_run_at - timezone.now() > timedelta(seconds=30)
    return (job.status, job.attempts, job.system_errors) == (Status.PENDING, 0, 0)


@pytest.mark.parametrize("guarantee", ["at_least_once", "at_most_once"])
def test_nothing_is_sent_and_nothing_counts(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, settings: Any, guarantee: str
) -> None:
    biz_type = make_biz_type("order.close", url=receiver.url(), encrypted=True, guarantee=guarantee)
    job_id = due(body={"card": 1}, request={"timeout_seconds": 1})
    use(settings, KEPT)

    fire()

    assert waits(job_id)
    assert receiver.received == []
    biz_type.refresh_from_db()
    assert (biz_type.is_paused, biz_type.pause_reason) == (True, REASON)


def test_the_key_that_is_back_lets_them_go(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, settings: Any
) -> None:
    make_biz_type("order.close", url=receiver.url(), encrypted=True)
    job_id = due(body={"card": 1})
    use(settings, KEPT)
    fire()

    use(settings, KEPT, LOST)
    verbs.resume(BizType.objects.get())
    jobs.run_now(job_id)
    fire()

    assert [received.body for received in receiver.received] == [b'{"card":1}']
    assert Job.objects.get().status == Status.SUCCEEDED


def test_jobs_of_celery_tasks_and_pulled_ones_wait_too(
    make_biz_type: MakeBizType, runner: TaskRunner, current_celery: Celery, settings: Any
) -> None:
    make_biz_type("card.charge", target="celery", task_name="tests.charge", encrypted=True)
    pulled = make_biz_type("report", target="pull", encrypted=True)
    charged, reported = due("card.charge", body=1), due("report", body=1)
    use(settings, KEPT)

    assert "no key" in str(runner.run(charged, lambda call: pytest.fail("it ran"), now_ms=0))
    assert Puller(by=Actor("api:shop")).run_once([pulled], most=5).claims == []
    assert waits(charged)
    assert waits(reported)


def test_one_alert_says_so_until_some_time_after_the_last_hold(make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("order.close", encrypted=True)
    hold([biz_type, biz_type], using="default")

    def told(now: Any) -> list[str]:
        biz_type_cache.clear()
        found = biz_type_judgement(biz_type_work(now=now, using="default"), now=now, using="default")
        assert AlertKind.UNREADABLE in found.kinds
        return [condition.kind for condition in found.conditions if condition.biz_type_id == biz_type.pk]

    now = timezone.now()
    assert told(now) == told(now + timedelta(seconds=90)) == [AlertKind.UNREADABLE]
    assert told(now + timedelta(seconds=60) + LATELY) == []


def test_a_pause_of_a_person_stays_as_it_is(make_biz_type: MakeBizType) -> None:
    until = timezone.now() + timedelta(days=1)
    biz_type = make_biz_type("order.close", paused_until=until, pause_reason="closed today")

    hold([biz_type], using="default")

    biz_type.refresh_from_db()
    assert (biz_type.paused_until, biz_type.pause_reason) == (until, "closed today")
    assert not is_held(biz_type, now=timezone.now())


@pytest.mark.postgresql_only
def test_a_pause_that_a_person_makes_at_the_same_moment_stays_too(make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("order.close")
    is_paused = threading.Event()

    def pause() -> None:
        with transaction.atomic():
            verbs.pause(BizType.objects.get(), by=Actor("ada"), reason="closed today")
            is_paused.set()
            wait_until(is_waited_for)

    def hold_it() -> None:
        assert is_paused.wait(30)
        hold([biz_type], using="default")

    at_once(pause, hold_it)

    biz_type.refresh_from_db()
    assert (biz_type.paused_until, biz_type.paused_by, biz_type.pause_reason) == (UNTIL_RESUMED, "ada", "closed today")


def test_what_follows_is_made_without_the_body(make_biz_type: MakeBizType, settings: Any) -> None:
    make_biz_type("told")
    make_biz_type("order.close", encrypted=True, on_dead="told", max_age=timedelta(seconds=1))
    job_id = due(body={"card": 1}, due_at=timezone.now() - timedelta(hours=1))
    use(settings, KEPT)

    Claimer(clock=RedisClock(client), worker="w", using="default").claim_due([job_id], now_ms=0)

    follows = Job.objects.get(biz_type__code="told")
    assert follows.is_sealed
    assert '"body_left_out":true' in follows.body


def test_an_answer_that_no_key_opens_is_said_to_be_left_out(make_biz_type: MakeBizType, settings: Any) -> None:
    make_biz_type("told", encrypted=True)
    make_biz_type("asked", on_resolved="told", encrypted=True)
    jobs.resolve("asked", "42", outcome="approved", body={"limit": 5})
    use(settings, KEPT)

    jobs.create("asked", biz_id="42", delay=60)

    answer = json.loads(Job.objects.get(biz_type__code="told").body)[FOLLOWS]["answer"]
    assert (answer["outcome"], answer["body"], answer["body_left_out"]) == ("approved", None, True)
    with pytest.raises(AlreadyAnswered):  # nobody knows whether it is the same
        jobs.resolve("asked", "42", outcome="approved")


def test_other_series_go_on_where_one_cannot_be_read(make_biz_type: MakeBizType, settings: Any) -> None:
    make_biz_type("order.close", encrypted=True)
    make_biz_type("order.open")
    hidden = series.create("order.close", name="a", every=timedelta(hours=1), body=1)
    series.create("order.open", name="b", every=timedelta(hours=1), body=1)
    Job.objects.all().delete()
    use(settings, KEPT)
    type(hidden).objects.update(make_at=timezone.now() - timedelta(seconds=1))

    SeriesMaker(using="default", clock=RedisClock(client)).run_once()

    assert {job.biz_type.code for job in Job.objects.select_related("biz_type")} == {"order.open"}
    with pytest.raises(SecretUnreadable):
        series.change(hidden.pk, body=2)


def test_a_job_that_cannot_be_read_can_be_cancelled(make_biz_type: MakeBizType, settings: Any) -> None:
    make_biz_type("order.close", encrypted=True)
    job_id = jobs.create("order.close", delay=60, body=1).job_id
    use(settings, KEPT)

    jobs.cancel(job_id, by=Actor("ada"))

    assert Job.objects.get().status == Status.CANCELLED


def test_secrets_that_no_key_opens_can_be_set_again(make_biz_type: MakeBizType, settings: Any) -> None:
    biz_type = make_biz_type("order.close")
    editing.change(biz_type, {"auth": "bearer"}, auth_secret="lost")
    verbs.make_signing_secret(biz_type)
    use(settings, KEPT)

    editing.change(biz_type := BizType.objects.get(), {"auth": "bearer"}, auth_secret="new")
    secret = verbs.make_signing_secret(biz_type)

    target = target_of(BizType.objects.get(), now=timezone.now())
    assert (target.authorization, target.secrets) == ("Bearer new", (secret,))
