"""Two workers work two operations off that want the same jobs, while others change these too: every number adds up."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission
from django.db import transaction

from delayhub.testing import MovableClock
from tasksapp import jobs, operations
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.errors import JobError
from tasksapp.models import AuditEntry, BizType, Job, Operation, Status
from tasksapp.operations import Starter
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.operation_runs import ADA, dead_jobs, pending_jobs, started, turns

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]

JOBS = 600
#: A run that is not at its end by then stands still.
LONGEST_SECONDS = 60.0

Fact = Callable[[], bool]


def worker(every: list[Operation], clock: MovableClock) -> Callable[[], int]:
    """Gives all operations turns until they have ended, as the maintenance thread of one worker does."""

    def work() -> int:
        given, deadline = turns(clock), time.monotonic() + LONGEST_SECONDS
        ids = [operation.pk for operation in every]
        for number in itertools.count(1):
            given.run_once()
            clock.advance(seconds=0.5)
            if not Operation.objects.filter(pk__in=ids, finished_at=None).exists():
                return number
            assert time.monotonic() < deadline, [operations.find(pk).cursor for pk in ids]
        raise AssertionError

    return work


def other(verb: Callable[..., Job], ids: list[UUID]) -> Callable[[], int]:
    """Does a verb to jobs that were not changed yet, one by one; gives back how many that were."""

    def change() -> int:
        changed = 0
        for job_id in ids:
            try:
                verb(job_id, version=1)
            except JobError:
                continue  # an operation was faster
            changed += 1
        return changed

    return change


def holder(ids: list[UUID], over: Fact) -> Callable[[], int]:
    """Holds a few rows locked for a moment, again and again, and changes none."""

    def hold() -> int:
        for first in itertools.cycle(range(0, len(ids), 30)):
            if over():
                break
            with transaction.atomic():
                list(Job.objects.filter(id__in=ids[first : first + 30]).select_for_update(no_key=True))
                time.sleep(0.02)
        return 0

    return hold


def once(operation: Operation, fact: Callable[[Operation], bool], then: Callable[[], Any]) -> Callable[[], int]:
    """Does something as soon as the fact is true of the operation."""

    def act() -> int:
        deadline = time.monotonic() + LONGEST_SECONDS
        while not fact(operations.find(operation.pk)):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        then()
        return 0

    return act


def ended(every: list[Operation]) -> Fact:
    ids = [operation.pk for operation in every]
    return lambda: not Operation.objects.filter(pk__in=ids, finished_at=None).exists()


def check_numbers(every: list[Operation], *, by_others: int) -> None:
    """What each operation says of itself is what rows and audit say, and no job was changed twice."""
    for operation in every:
        operation.refresh_from_db()
        mine = Job.objects.filter(operation_id=operation.pk)
        assert (operation.planned, operation.done + operation.left) == (JOBS, JOBS)
        assert operation.done == mine.count() == mine.filter(changed_by=f"op {operation.pk}").count()
        last = AuditEntry.objects.filter(operation_id=operation.pk).latest("id")
        assert last.verb in {Deed.STOP, f"operation.{operation.state}"}
        assert last.after["done"] == operation.done
    assert sorted(Job.objects.values_list("version", flat=True).distinct()) in ([1, 2], [2])
    assert Job.objects.filter(version=2).count() == sum(operation.done for operation in every) + by_others


@pytest.mark.parametrize(
    ("make", "first", "second", "others"),
    [
        (pending_jobs, "cancel", "run_now", jobs.cancel),
        (pending_jobs, "run_now", "cancel", jobs.cancel),
        (dead_jobs, "redrive", "drop", jobs.drop),
        (dead_jobs, "drop", "redrive", jobs.drop),
    ],
)
def test_two_operations_on_the_same_jobs_share_them_and_a_stop_in_the_middle_leaves_true_numbers(
    biz_type: BizType, make: Any, first: str, second: str, others: Callable[..., Job]
) -> None:
    ids = [job.id for job in make(biz_type, JOBS)]
    clock = MovableClock()
    one, two = (started(verb, biz_type="order.close", rate_per_second=200) for verb in (first, second))
    both = [one, two]

    changed = at_once(
        worker(both, clock),
        worker(both, clock),
        other(others, ids[:: JOBS // 60]),
        holder(ids, ended(both)),
        once(one, lambda now: now.done >= JOBS // 4, lambda: operations.stop(one.pk, by=ADA)),
    )

    by_others = changed[2]
    check_numbers(both, by_others=by_others)
    assert (one.state, two.state) == ("stopped", "done")
    assert one.done >= JOBS // 4
    assert one.done + two.done + by_others == JOBS


def test_a_starter_who_lost_the_right_in_the_middle_leaves_true_numbers(
    biz_type: BizType, django_user_model: Any
) -> None:
    ids = [job.id for job in dead_jobs(biz_type, JOBS)]
    eve = django_user_model.objects.create_user("eve")
    eve.user_permissions.add(Permission.objects.get(codename="drop_job"))
    clock = MovableClock()
    hers = started("drop", by=Starter(Actor("eve"), eve.pk), biz_type="order.close", rate_per_second=200)
    next_ = started("redrive", biz_type="order.close", rate_per_second=200)
    both = [hers, next_]

    changed = at_once(
        worker(both, clock),
        worker(both, clock),
        other(jobs.drop, ids[:: JOBS // 60]),
        holder(ids, ended(both)),
        once(
            hers,
            lambda now: now.done >= JOBS // 4,
            lambda: django_user_model.objects.filter(pk=eve.pk).update(is_active=False),
        ),
    )

    check_numbers(both, by_others=changed[2])
    assert (hers.state, hers.state_reason) == ("stopped", "the account of eve is not active any more")
    assert next_.state == "done"
    assert hers.done + next_.done + changed[2] == JOBS
    assert Job.objects.filter(status=Status.DEAD).count() == 0


def test_a_page_that_is_written_while_somebody_stops_it_is_in_the_record(
    biz_type: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead_jobs(biz_type, JOBS)
    operation = started("drop", biz_type="order.close", rate_per_second=100)
    clock, find, finds = MovableClock(), operations.verbs.find, []

    def find_and_be_overtaken(*args: Any, **kwargs: Any) -> Operation:
        found = find(*args, **kwargs)
        finds.append(found)
        if len(finds) == 1:
            clock.advance(seconds=1)
            at_once(turns(clock).run_once)
        return found

    monkeypatch.setattr(operations.verbs, "find", find_and_be_overtaken)
    operations.stop(operation.pk, by=ADA)

    operation.refresh_from_db()
    entry = AuditEntry.objects.filter(operation_id=operation.pk, verb=Deed.STOP).get()
    assert 0 < operation.done == Job.objects.filter(operation_id=operation.pk).count() == JOBS - operation.left
    assert entry.after == {"done": operation.done}
