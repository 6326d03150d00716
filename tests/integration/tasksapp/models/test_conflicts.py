"""Transactions that meet: verbs, claims and outcomes go on by themselves; a caller's own transaction is left alone."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from django.db import InternalError, OperationalError, connection, transaction
from django.utils import timezone

from delayhub.testing import without_timers
from delayhub.webhooks.signature import new_secret
from tasksapp import biz_types, jobs, operations, series
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import UNTIL_RESUMED, BizType, Job, Status, Transition
from tasksapp.models.conflicts import TRIES, repeated
from tasksapp.models.tenant import DEFAULT_TENANT
from tests.integration.tasksapp.api.access_table import Place, store_place
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.conflicting import conflict, conflicts
from tests.integration.tasksapp.operation_runs import ADA
from tests.integration.tasksapp.stored_jobs import due
from tests.job_rows import store_job
from tests.outcomes import finished

pytestmark = pytest.mark.django_db(transaction=True)


class Call:
    """Fails so many times."""

    def __init__(self, failures: int, error: Callable[[], Exception] = conflict) -> None:
        self.failures, self.error, self.calls = failures, error, 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error()
        return "done"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasksapp.models.conflicts.FIRST_PAUSE_SECONDS", 0.001)


def once_more(call: Call) -> str:
    return repeated(call)()


def test_a_call_is_made_again_until_it_passes_or_its_tries_are_used_up() -> None:
    assert once_more(Call(TRIES - 1)) == "done"
    failing = Call(1000)

    with pytest.raises(OperationalError):
        once_more(failing)

    assert failing.calls == TRIES


def locked_file() -> OperationalError:
    """SQLite's refusal of a lock."""
    error = OperationalError("database is locked")
    error.__cause__ = cause = sqlite3.OperationalError("database is locked")
    cause.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error


def test_a_lock_that_sqlite_refuses_at_once_is_asked_for_again_and_one_that_was_waited_for_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert once_more(Call(1, error=locked_file)) == "done"

    monkeypatch.setattr("tasksapp.models.conflicts.AT_ONCE_SECONDS", 0.0)
    with pytest.raises(OperationalError):
        once_more(Call(1, error=locked_file))


def test_a_call_to_a_standby_is_made_once_more() -> None:
    def standby() -> Exception:
        error = InternalError("cannot execute INSERT in a read-only transaction")
        error.__cause__ = psycopg.errors.ReadOnlySqlTransaction()
        return error

    failing = Call(2, error=standby)

    with pytest.raises(InternalError):
        once_more(failing)

    assert failing.calls == 2
    assert once_more(Call(1, error=standby)) == "done"


def test_calls_within_calls_do_not_multiply_their_tries() -> None:
    failing = Call(1000)

    with pytest.raises(OperationalError):
        repeated(lambda: once_more(failing))()

    assert failing.calls == TRIES


def test_within_a_callers_transaction_it_is_made_once() -> None:
    failing = Call(1)

    with pytest.raises(OperationalError), transaction.atomic():
        once_more(failing)

    assert failing.calls == 1


def test_other_errors_are_no_reason_to_call_again() -> None:
    failing = Call(1, error=lambda: OperationalError("no connection"))

    with pytest.raises(OperationalError):
        once_more(failing)

    assert failing.calls == 1


#: How each public verb that writes is called about a place; a room's other names only read, or are asynchronous.
CALLS: dict[str, dict[str, Callable[[Place], object]]] = {
    "jobs": {
        "create": lambda place: jobs.create(place.code, delay=60),
        "create_many": lambda place: jobs.create_many([jobs.JobRequest(biz_type=place.code, idempotency_key="k")]),
        "apply_many": lambda place: jobs.apply_many(jobs.Verb.CANCEL, [place.pending.id]),
        "cancel": lambda place: jobs.cancel(place.pending.id),
        "drop": lambda place: jobs.drop(place.dead.id),
        "edit": lambda place: jobs.edit(place.pending.id, body=1),
        "lift": lambda place: jobs.lift(place.code, "resolved"),
        "make_link": lambda place: jobs.make_link(place.pending.id, outcomes=["yes"], given_to="ada"),
        "redrive": lambda place: jobs.redrive(place.dead.id),
        "reschedule": lambda place: jobs.reschedule(place.pending.id, delay=5),
        "resolve": lambda place: jobs.resolve(place.code, place.pending.biz_id),
        "run_again": lambda place: jobs.run_again(Job.objects.get(status=Status.SUCCEEDED).id),
        "run_now": lambda place: jobs.run_now(place.pending.id),
        "withdraw_link": lambda place: jobs.withdraw_link(place.pending.id, place.link),
    },
    "series": {
        "create": lambda place: series.create(place.code, name="new", every=60),
        "change": lambda place: series.change(place.series, cron="0 0 * * *"),
        "delete": lambda place: series.delete(place.series),
        "pause": lambda place: series.pause(place.series),
        "resume": lambda place: series.resume(paused(place)),
        "trigger": lambda place: series.trigger(place.series, by=ADA.actor),
    },
    "operations": {
        "plan": lambda place: operations.plan("redrive", JobFilter(biz_type=place.code), by=ADA),
        "plan_backfill": lambda place: operations.plan_backfill(
            place.series, since=timezone.now() - timedelta(days=2), until=timezone.now() - timedelta(days=1), by=ADA
        ),
        "plan_rest": lambda place: operations.plan_rest(place.stopped, by=ADA),
        "repace": lambda place: operations.repace(place.running, by=ADA, rate_per_second=1),
        "start": lambda place: operations.start(place.planned, by=ADA),
        "stop": lambda place: operations.stop(place.running, by=ADA),
    },
    "biz_types": {
        "change": lambda place: biz_types.change(place.code, max_attempts=3),
        "create": lambda place: biz_types.create("another", url="https://shop.example/"),
        "delete": lambda place: biz_types.delete(biz_types.find("empty")),
        "make_signing_secret": lambda place: biz_types.make_signing_secret(place.biz_type),
        "pause": lambda place: biz_types.pause(place.biz_type),
        "resume": lambda place: biz_types.resume(biz_types.find("held")),
        "rotate_signing_secret": lambda place: biz_types.rotate_signing_secret(place.biz_type, new_secret()),
        "stop_signing": lambda place: biz_types.stop_signing(place.biz_type, biz_types.Signing.SECRET),
    },
}


def paused(place: Place) -> int:
    series.pause(place.series)
    return place.series


READ_ONLY = {
    "acancel", "acreate", "areschedule", "current", "find", "find_by_name", "find_live", "follow_up_again", "links_of",
    "preview", "progress", "rest_of",
}  # fmt: skip


@pytest.mark.parametrize("room", [jobs, series, operations, biz_types], ids=lambda room: room.__name__)
def test_each_verb_that_writes_is_in_the_table(room: ModuleType) -> None:
    verbs = {name for name in room.__all__ if name[0].islower()}

    assert verbs - READ_ONLY == CALLS[room.__name__.rpartition(".")[2]].keys()


@pytest.mark.parametrize(
    ("room", "verb"), [(room, verb) for room, calls in CALLS.items() for verb in calls], ids=lambda word: word
)
def test_a_verb_whose_writes_meet_others_is_done(room: str, verb: str, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": "https://delay.example"}
    place, later = store_place("mine.one", tenant_id=DEFAULT_TENANT, name="mine"), timezone.now() + timedelta(hours=1)
    BizType.objects.filter(pk=place.biz_type.pk).update(on_resolved=place.code)
    Job.objects.filter(pk=place.pending.pk).update(due_at=later, next_run_at=later)
    store_job(place.biz_type, Status.SUCCEEDED)
    BizType.objects.create(code="empty")
    BizType.objects.create(code="held", paused_until=UNTIL_RESUMED)
    with without_timers():
        jobs.resolve(place.code, "resolved")

        with conflicts() as refusing:
            CALLS[room][verb](place)

    assert refusing.refused


@pytest.mark.parametrize("debounced", [False, True])
def test_a_create_is_made_once(biz_type: BizType, *, debounced: bool) -> None:
    keys = {"debounce_key": "d", "idempotency_key": "i"} if debounced else {}
    with conflicts() as refusing, without_timers():
        made = jobs.create("order.close", delay=60, **keys)

    assert (bool(refusing.refused), made.created, Job.objects.count()) == (True, True, 1)


def test_a_batch_of_many_is_made_again_and_those_before_it_are_not(biz_type: BizType) -> None:
    with without_timers():
        ids = [jobs.create("order.close", delay=60).job_id for _ in range(5)]
        with patch("tasksapp.jobs.bulk.BATCH_ROWS", 2), conflicts() as refusing:
            outcome = jobs.apply_many(jobs.Verb.CANCEL, ids)

    assert (bool(refusing.refused), outcome.changed, outcome.left) == (True, 5, 0)


def test_a_resolve_cancels_all_that_is_pending(biz_type: BizType) -> None:
    with without_timers():
        jobs.create("order.close", biz_id="42", delay=60)
        with conflicts() as refusing:
            assert jobs.resolve("order.close", "42").accepted

    assert len(refusing.refused) > 1  # the tombstone, and the cancel after it

    assert Job.objects.get().status == Status.CANCELLED


def test_claims_and_outcomes_go_on(biz_type: BizType, claimer: Claimer, completer: Completer) -> None:
    job_id = due("order.close")

    with conflicts() as claiming:
        (job,) = claimer.running_jobs(claimer.claim_due([job_id], now_ms=int(timezone.now().timestamp() * 1000)))
    with conflicts() as renewing:
        assert completer.renew([job]) == {job_id}
    with conflicts() as ending:
        assert completer.complete([Completion(job, finished(job_id, job.token, Transition.SUCCEED))]) == {job_id}

    assert claiming.refused
    assert renewing.refused
    assert ending.refused
    assert Job.objects.get().status == Status.SUCCEEDED


def created_by_callers(callers: int, creates: int, *, before: Callable[[], object]) -> Counter[bool]:
    """How many creates made a job and how many found one, in threads that use the same keys at the same moment."""
    created: Counter[bool] = Counter()
    lock = threading.Lock()

    def work(caller: int) -> None:
        before()
        for number in range(creates):
            made = jobs.create("order.close", delay=60, idempotency_key=f"{number + caller % 2}")
            with lock:
                created[made.created] += 1

    with without_timers():
        at_once(*(partial(work, caller) for caller in range(callers)))
    return created


@pytest.mark.postgresql_only
def test_creates_of_several_callers_at_serializable_all_pass(biz_type: BizType) -> None:
    """They write and read the same index pages."""

    def begin() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_isolation = 'serializable'")

    created = created_by_callers(6, 40, before=begin)

    assert (created.total(), created[True], Job.objects.count()) == (240, 41, 41)
