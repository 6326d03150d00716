"""Ordered flow keys: their places, and who may take a job of them while others do the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tasksapp import jobs
from tasksapp.jobs.creation import JobRequest, create, create_many
from tasksapp.maintenance.purger import Purger
from tasksapp.models import BizType, Job, OrderedKey, Status
from tasksapp.sql import ordered_claims
from tasksapp.sql.ordered_keys import blocked_keys, first_jobs_of, first_jobs_page, take_turns
from tasksapp.sql.read_values import to_unix_microseconds
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.claiming import claim as claim_rows

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = timedelta(seconds=1)
BLOCKS, LETS_GO = BizType.Ordered.BLOCKS, BizType.Ordered.LETS_GO


@pytest.fixture
def ordered(make_biz_type: MakeBizType) -> BizType:
    return make_biz_type("ship", ordered=BLOCKS)


@pytest.fixture
def lets_go(make_biz_type: MakeBizType) -> BizType:
    return make_biz_type("ship", ordered=LETS_GO)


def line(count: int, *, key: str = "anna", ago: float = 60) -> list[UUID]:
    """The ids of so many jobs of a flow key that were due one after the other."""
    begin = timezone.now() - timedelta(seconds=ago)
    return [create("ship", flow_key=key, due_at=begin + number * SECOND).job_id for number in range(count)]


def test_a_key_is_forgotten_when_all_its_jobs_are_over_and_gives_later_places_then(
    ordered: BizType, clock: RedisClock
) -> None:
    (first,) = line(1)
    list(Purger(using="default", clock=clock).batches())
    assert OrderedKey.objects.count() == 1
    place = Job.objects.get(id=first).place
    jobs.cancel(first)

    list(Purger(using="default", clock=clock).batches())

    assert OrderedKey.objects.count() == 0
    second = Job.objects.get(id=line(1)[0])
    assert (second.place or 0) > (place or 0) > 0


def test_a_bulk_is_placed_in_the_order_of_its_list(ordered: BizType) -> None:
    made = create_many([JobRequest("ship", flow_key="anna") for _ in range(30)])

    rows = [one.job for one in made]  # type: ignore[union-attr]  # none is rejected
    assert len({row.due_at for row in rows}) == 1
    assert [row.id for row in Job.objects.order_by("due_at", "place")] == [row.id for row in rows]


@pytest.mark.postgresql_only
def test_creators_whose_clocks_differ_are_placed_as_they_commit(
    ordered: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = create("ship", flow_key="anna").job
    behind = timezone.now() - timedelta(seconds=5)
    monkeypatch.setattr(timezone, "now", lambda: behind)

    second = create("ship", flow_key="anna").job

    assert (second.due_at, second.place) > (first.due_at, first.place)


def test_a_replaced_job_keeps_its_place(make_biz_type: MakeBizType) -> None:
    make_biz_type("ship", ordered=BLOCKS, one_live="replace")
    due = timezone.now() + timedelta(hours=1)
    old = create("ship", biz_id="7", flow_key="anna", due_at=due).job
    create("ship", biz_id="8", flow_key="anna", due_at=due)

    again = create("ship", biz_id="7", flow_key="anna", due_at=due, body={"new": 1})

    assert (again.job_id, again.replaced, again.job.place) == (old.id, True, old.place)


def test_a_debounced_job_keeps_its_place(ordered: BizType) -> None:
    old = create("ship", debounce_key="7", flow_key="anna", delay=3_600).job

    again = create("ship", debounce_key="7", flow_key="anna", delay=3_600)

    assert (again.job_id, again.replaced, again.job.place) == (old.id, True, old.place)


def test_each_job_that_begins_has_a_greater_turn_and_keeps_it_in_all_attempts(ordered: BizType) -> None:
    later, early = create("ship", flow_key="anna", due_at=timezone.now() - SECOND).job_id, line(1)[0]

    (first,) = claim_rows(early, later).claimed
    Job.objects.filter(id=early).update(status=Status.PENDING, lease_until=None)
    (again,) = claim_rows(early).claimed
    Job.objects.filter(id=early).update(status=Status.PENDING)
    jobs.cancel(early)
    (second,) = claim_rows(later).claimed

    assert second.turn > first.turn == again.turn > 0
    assert (second.place or 0) < (first.place or 0)


def claim_often(ids: Sequence[UUID]) -> None:
    for _ in range(3):
        claim_rows(*ids)


def redrive(job_id: UUID) -> None:
    jobs.redrive(job_id)


@pytest.mark.postgresql_only
def test_no_two_jobs_of_a_key_run_whoever_redrives_meanwhile(lets_go: BizType) -> None:
    """A redrive and claims of all jobs, by several sessions at once, again and again."""
    for _ in range(15):
        ids = line(4)
        Job.objects.filter(id=ids[0]).update(status=Status.DEAD, finished_at=timezone.now())

        claims = partial(claim_often, ids)
        at_once(claims, partial(redrive, ids[0]), claims, claims)

        assert Job.objects.filter(status=Status.RUNNING).count() == 1
        Job.objects.all().delete()


@pytest.mark.postgresql_only
def test_a_second_session_takes_nothing_of_a_key_that_is_held(lets_go: BizType) -> None:
    """Job 1 is dead, a claim of job 2 is under way, job 1 is redriven and committed, and then claimed by another."""
    first, second = line(2)
    Job.objects.filter(id=first).update(status=Status.DEAD, finished_at=timezone.now())
    with transaction.atomic():
        assert take_turns([second], using="default").first == [second]

        redriven, other = at_once(partial(redrive, first)), at_once(partial(claim_rows, first))

        assert (redriven, other[0].claimed, other[0].locked) == ([None], [], [first])


@pytest.mark.postgresql_only
def test_a_claim_that_waits_for_a_creator_passes_over_its_key(ordered: BizType) -> None:
    (anna,), (eva,) = line(1), line(1, key="eva")
    with transaction.atomic():
        create("ship", flow_key="anna")

        (answer,) = at_once(partial(claim_rows, anna, eva))

    assert ([job.id for job in answer.claimed], answer.locked) == ([eva], [anna])


def test_the_pages_of_first_jobs_go_over_all_keys(ordered: BizType) -> None:
    ids = {key: line(2, key=key)[0] for key in ("a", "b", "c")}

    page, after = first_jobs_page(ordered.pk, after="", most=2, using="default")
    assert {job.flow_key: job.id for job in page} == {key: ids[key] for key in ("a", "b")}
    rest, end = first_jobs_page(ordered.pk, after=after or "", most=2, using="default")

    assert ([job.id for job in rest], end) == ([ids["c"]], None)
    assert first_jobs_of([(ordered.pk, "none")], using="default") == []


def test_a_key_is_blocked_once_its_first_job_began_long_ago_and_others_wait(ordered: BizType) -> None:
    first, *_ = line(2)
    alone = line(1, key="eva")
    claim_rows(first, *alone)

    def blocked(seconds: float) -> list[UUID]:
        before = timezone.now() + timedelta(seconds=seconds)
        return [job.id for job in blocked_keys(ordered.pk, before=before, most=9, using="default")]

    assert (blocked(-60), blocked(60)) == ([], [first])


def test_a_job_that_died_before_it_was_taken_blocks_its_key_and_says_so(ordered: BizType) -> None:
    first, _ = line(2)
    (alone,) = line(1, key="eva")
    ended = timezone.now() - timedelta(minutes=5)
    Job.objects.filter(id__in=[first, alone]).update(status=Status.DEAD, finished_at=ended)

    def blocked(before: datetime) -> list[UUID]:
        return [job.id for job in blocked_keys(ordered.pk, before=before, most=9, using="default")]

    assert (blocked(ended - SECOND), blocked(ended + SECOND)) == ([], [first])
    BizType.objects.update(ordered=LETS_GO)
    assert blocked(ended + SECOND) == []


def test_what_was_claimed_is_delivered_where_the_claim_of_jobs_in_order_fails(
    ordered: BizType, make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_biz_type("free")
    free = create("free", due_at=timezone.now() - SECOND).job_id
    (first,) = line(1)

    def fails(*args: object, **options: object) -> dict[UUID, int]:
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr(ordered_claims, "begin_jobs", fails)
    answer = claim_rows(free, first)

    assert ([job.id for job in answer.claimed], answer.locked) == ([free], [first])
    assert Job.objects.get(id=first).status == Status.PENDING
    with pytest.raises(OperationalError):
        claim_rows(first)


def test_a_turn_is_greater_than_the_last_one_also_where_the_clock_was_set_back(ordered: BizType) -> None:
    first, second = line(2)
    (one,) = claim_rows(first).claimed
    ahead = timezone.now() + timedelta(hours=1)
    OrderedKey.objects.update(begun_at=ahead)
    Job.objects.filter(id=first).update(status=Status.SUCCEEDED, lease_until=None)

    (two,) = claim_rows(second).claimed

    assert two.turn > to_unix_microseconds(ahead) > one.turn


def test_jobs_without_order_cost_no_statement_more(biz_type: BizType) -> None:
    """Neither a create nor a claim."""
    with CaptureQueriesContext(connection) as made:
        job_id = create("order.close", flow_key="anna", due_at=timezone.now() - SECOND).job_id
    with CaptureQueriesContext(connection) as claimed:
        claim_rows(job_id)

    statements = [query["sql"] for query in (*made, *claimed)]
    assert not [sql for sql in statements if "delayhub_ordered_key" in sql]
