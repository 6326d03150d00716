"""Biz types that keep the last: while a job of a biz id runs one more waits for its end, as the last create asked."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from cryptography.fernet import Fernet
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp import jobs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.holds import key_hold
from tasksapp.errors import OneIsLive, SeveralJobs
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.creation import Created, JobRequest
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType, IdempotencyKey, Job, Status
from tasksapp.models.sealable import stored
from tasksapp.sql.keep_last import MARK, waiting_key
from tasksapp.sql.series_overlap import WAIT
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim, return_lost
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import tried

pytestmark = pytest.mark.django_db(transaction=True)

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
KEY = "order-42"


@pytest.fixture
def sync(make_biz_type: MakeBizType) -> BizType:
    return make_biz_type("stock.sync", one_live="last", max_attempts=2, backoff_min_seconds=0, jitter=0)


def asked(body: Any, *, biz_id: str = KEY, **fields: Any) -> UUID:
    return due("stock.sync", biz_id=biz_id, body=body, **fields)


def run(claimer: Claimer, *ids: UUID) -> list[RunningJob]:
    return claimer.running_jobs(claimer.claim_due(list(ids), now_ms=0))


def end(completer: Completer, job: RunningJob) -> None:
    completer.complete([Completion(job, completion.succeeded(job, tried=tried()))])


def row(job_id: UUID) -> Job:
    return Job.objects.get(id=job_id)


def come_again(job_id: UUID) -> None:
    """The wait of one that was found behind another is over."""
    Job.objects.filter(id=job_id).update(next_run_at=timezone.now() - SECOND)


def test_the_last_of_those_created_while_one_runs_begins_when_that_has_ended(
    sync: BizType, claimer: Claimer, completer: Completer, lane: TimerLane
) -> None:
    first = asked(1)
    (running,) = run(claimer, first)

    due_at = timezone.now() - SECOND
    made = [jobs.create("stock.sync", biz_id=KEY, body=body, due_at=due_at) for body in (2, 3, 4)]
    waiting = made[0].job_id
    beside = run(claimer, waiting)
    held, timer_ms = row(waiting), lane.look("stock.sync", [str(waiting)])[0]
    end(completer, running)
    woken_ms = lane.look("stock.sync", [str(waiting)])[0]
    (after,) = run(claimer, waiting)

    assert [(one.job_id, one.created, one.replaced) for one in made] == [
        (waiting, True, False), (waiting, False, True), (waiting, False, True)
    ]  # fmt: skip
    assert beside == []
    assert (held.status, held.live_key) == (Status.PENDING, MARK + KEY)
    assert timer_ms is not None
    assert woken_ms is not None
    assert woken_ms < timer_ms, "it is woken, and does not wait to be looked at again"
    assert (after.id, after.row.body) == (waiting, "4")
    assert Job.objects.filter(live_key=KEY).count() == 2


def test_one_that_has_not_begun_is_replaced(sync: BizType, claimer: Claimer) -> None:
    first = asked(1, delay=60)

    again = jobs.create("stock.sync", biz_id=KEY, body=2, due_at=timezone.now() - SECOND)
    (running,) = run(claimer, first)

    assert (again.job_id, again.replaced) == (first, True)
    assert running.row.body == "2"


def test_it_waits_until_all_attempts_of_the_running_one_are_over(
    sync: BizType, claimer: Claimer, completer: Completer
) -> None:
    first = asked(1)
    (running,) = run(claimer, first)
    waiting = asked(2)
    failed = completion.failed(running, tried=tried(), error_class="http.503", now=timezone.now())
    completer.complete([Completion(running, failed)])

    between = run(claimer, waiting)
    last = asked(3)
    come_again(first)
    (retried,) = run(claimer, first)
    failed = completion.failed(retried, tried=tried(2), error_class="http.503", now=timezone.now())
    completer.complete([Completion(retried, failed)])
    (after,) = run(claimer, waiting)

    assert between == []
    assert last == waiting
    assert row(first).status == Status.DEAD
    assert after.row.body == "3"


def test_a_lost_worker_keeps_nothing_from_running(sync: BizType, claimer: Claimer) -> None:
    first = asked(1)
    run(claimer, first)
    waiting = asked(2)
    assert run(claimer, waiting) == []

    return_lost(now=timezone.now() + HOUR)  # pending once more, before the one that waits
    come_again(waiting)
    assert run(claimer, waiting) == []
    come_again(first)
    run(claimer, first)
    BizType.objects.update(guarantee="at_most_once")
    (lost,) = return_lost(now=timezone.now() + HOUR)  # for good, and nobody says so
    come_again(waiting)
    (after,) = run(claimer, waiting)

    assert (lost.id, lost.status) == (first, Status.DEAD)
    assert after.id == waiting


def test_what_waits_for_another_is_never_late_nor_too_old(
    sync: BizType, claimer: Claimer, completer: Completer
) -> None:
    BizType.objects.update(max_lateness=5 * SECOND, when_late="skip", max_age=10 * SECOND)
    (running,) = run(claimer, asked(1))
    waiting = asked(2)
    ago = timezone.now() - HOUR
    Job.objects.filter(id=waiting).update(due_at=ago, next_run_at=ago)

    assert run(claimer, waiting) == []
    end(completer, running)
    (after,) = run(claimer, waiting)

    assert after.row.due_at > timezone.now() - 5 * SECOND


def test_without_another_one_a_late_job_is_late(sync: BizType, claimer: Claimer) -> None:
    BizType.objects.update(max_lateness=5 * SECOND, when_late="skip")
    late = asked(1, due_at=timezone.now() - HOUR)

    assert run(claimer, late) == []
    assert row(late).status == Status.SKIPPED


def test_it_is_not_earlier_than_it_was_asked_for(sync: BizType, claimer: Claimer, completer: Completer) -> None:
    (running,) = run(claimer, asked(1))
    waiting = asked(2, delay=60)

    end(completer, running)

    assert run(claimer, waiting) == []
    assert row(waiting).next_run_at > timezone.now() + 50 * SECOND
    assert asked(3) == waiting, "it is replaced, and has another time"
    assert [job.row.body for job in run(claimer, waiting)] == ["3"]


def test_verbs_of_the_business_key_mean_the_one_that_waits(sync: BizType, claimer: Claimer) -> None:
    first = asked(1)
    run(claimer, first)
    waiting = asked(2)

    found = jobs.find_live("stock.sync", KEY)
    jobs.run_now(waiting)
    beside = run(claimer, waiting)
    jobs.cancel(waiting)
    again = asked(3)
    resolved = jobs.resolve("stock.sync", KEY)

    assert found.id == waiting
    assert beside == []
    assert again != waiting
    assert (list(resolved.cancelled or ()), list(resolved.running or ())) == ([again], [first])


def test_of_more_live_jobs_none_is_meant(sync: BizType, claimer: Claimer) -> None:
    for one_live in ("any", "last"):
        sync.one_live = one_live
        sync.save()
        asked(0)
    run(claimer, asked(1))
    asked(2)

    with pytest.raises(SeveralJobs):
        jobs.find_live("stock.sync", KEY)


def test_a_redrive_goes_before_the_one_that_waits_and_is_refused_beside_one_that_runs(
    sync: BizType, claimer: Claimer, completer: Completer
) -> None:
    first = asked(1)
    (running,) = run(claimer, first)
    gone = completion.gave_up(running, tried=tried(), reason="gone", error_class="http.410")
    completer.complete([Completion(running, gone)])
    second = asked(2)

    jobs.redrive(first)
    beside = run(claimer, second)
    (again,) = run(claimer, first)
    end(completer, again)
    run(claimer, second)
    Job.objects.filter(id=first).update(status=Status.DEAD)
    with pytest.raises(OneIsLive) as refused:
        jobs.redrive(first)

    assert beside == []
    assert refused.value.job_id == second


def test_another_biz_id_is_taken_where_none_waits(sync: BizType, claimer: Claimer) -> None:
    run(claimer, asked(1))
    asked(2)
    other = asked(3, biz_id="order-43")

    with pytest.raises(OneIsLive, match=f"'{KEY}' is live"):
        jobs.edit(other, biz_id=KEY)
    jobs.edit(other, biz_id="order-44")

    assert row(other).live_key == MARK + "order-44"


def test_a_bulk_and_repeated_requests_meet_it_too(sync: BizType, claimer: Claimer) -> None:
    run(claimer, asked(1))
    bulk = [JobRequest("stock.sync", biz_id=key, body=n) for n, key in enumerate((KEY, "other", KEY, "other", ""))]

    made = [one for one in jobs.create_many(bulk) if isinstance(one, Created)]
    keyed = [jobs.create("stock.sync", biz_id=KEY, body=9, idempotency_key="k").job_id for _ in range(2)]

    assert [one.created for one in made] == [True, True, False, False, True]
    assert keyed == [made[0].job_id] * 2
    assert IdempotencyKey.objects.get().job_id == made[0].job_id
    assert row(made[0].job_id).body == "9"
    assert row(made[1].job_id).body == "3"


@pytest.mark.parametrize("length", [199, 200])
def test_the_longest_biz_ids_have_one_that_waits_each(sync: BizType, claimer: Claimer, length: int) -> None:
    keys = ["x" * (length - 1) + end for end in "ab"]
    run(claimer, *[asked(1, biz_id=key) for key in keys])

    waiting = {asked(body, biz_id=key) for body in (2, 3) for key in keys}

    assert len(waiting) == 2
    assert {len(waiting_key(key)) <= 200 for key in keys} == {True}
    assert Job.objects.filter(body="3", status=Status.PENDING).count() == 2
    with pytest.raises(OneIsLive, match=f"'{keys[0]}' is live"):
        jobs.edit(asked(4, biz_id="other"), biz_id=keys[0])


def test_a_task_under_way_has_begun(make_biz_type: MakeBizType) -> None:
    make_biz_type("stock.sync", one_live="last", target="celery", task_name="stock.sync")
    first = asked(1)
    sent = claim(first, forward_seconds=60)
    waiting = asked(2)

    beside = claim(waiting, forward_seconds=60)
    begun = claim(first)

    assert [job.id for job in sent.forwarded] == [first]
    assert waiting != first
    assert beside.forwarded == []
    assert [job_id for job_id, at in beside.not_due if at > timezone.now()] == [waiting]
    assert [job.id for job in begun.claimed] == [first]


def test_an_encrypted_one_is_opened_as_it_was_last(
    make_biz_type: MakeBizType, claimer: Claimer, completer: Completer, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}
    make_biz_type("stock.sync", one_live="last", encrypted=True)
    (running,) = run(claimer, asked({"secret": 1}))
    waiting = asked({"secret": 2})
    asked({"secret": 3})
    end(completer, running)

    (after,) = run(claimer, waiting)

    assert "secret" not in stored(row(waiting), "body")
    assert json.loads(after.row.body) == {"secret": 3}


def test_people_are_told_what_it_waits_for(sync: BizType, claimer: Claimer) -> None:
    first = asked(1)
    run(claimer, first)
    waiting = asked(2)

    assert key_hold(row(waiting), now=timezone.now()) == (
        f"job {first} (running) of the same biz id has not ended, and this one is kept until then"
    )
    Job.objects.filter(id=first).update(status=Status.SUCCEEDED)
    assert key_hold(row(waiting), now=timezone.now()) == ""


def test_one_that_is_behind_is_looked_at_now_and_then_and_is_not_overdue(sync: BizType, claimer: Claimer) -> None:
    run(claimer, asked(1))
    waiting = asked(2)
    version = row(waiting).version

    run(claimer, waiting)

    assert timezone.now() < row(waiting).next_run_at <= timezone.now() + WAIT
    assert row(waiting).version == version, "callers who saw it may change it"


def test_after_another_choice_what_waits_lets_those_go_first_that_do_not_see_it(
    sync: BizType, claimer: Claimer, completer: Completer
) -> None:
    waiting = asked(1)
    BizType.objects.filter(pk=sync.pk).update(one_live="refuse")
    biz_type_cache.clear()

    other = asked(2)

    assert run(claimer, waiting) == []
    (running,) = run(claimer, other)
    end(completer, running)
    come_again(waiting)
    assert [job.id for job in run(claimer, waiting)] == [waiting]


@pytest.mark.postgresql_only
def test_what_ends_does_not_wait_for_who_replaces_what_waits(
    sync: BizType, claimer: Claimer, completer: Completer
) -> None:
    (running,) = run(claimer, asked(1))
    waiting = asked(2)
    run(claimer, waiting)

    def end_it() -> None:
        end(completer, running)
        connections.close_all()

    with ThreadPoolExecutor(1) as beside, transaction.atomic():
        Job.objects.select_for_update().get(id=waiting)
        beside.submit(end_it).result(timeout=10)

    assert row(running.id).status == Status.SUCCEEDED


@pytest.mark.postgresql_only
def test_other_biz_types_take_no_statement_more(
    make_biz_type: MakeBizType, claimer: Claimer, completer: Completer
) -> None:
    make_biz_type("order.close")
    make_biz_type("stock.sync", one_live="last")

    def statements(code: str) -> list[int]:
        counts = []
        job: UUID | None = None
        running: list[RunningJob] = []
        for step in ("create", "claim", "end"):
            with CaptureQueriesContext(connection) as seen:
                if step == "create":
                    job = due(code, biz_id=KEY)
                elif step == "claim":
                    assert job is not None
                    running = run(claimer, job)
                else:
                    end(completer, running[0])
            counts.append(
                len([one for one in seen if not one["sql"].startswith(("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT"))])
            )
        return counts

    for code in ("order.close", "stock.sync"):
        statements(code)  # which reads the biz type

    assert statements("order.close") == [1, 1, 1]
    assert statements("stock.sync") == [1, 5, 2]
