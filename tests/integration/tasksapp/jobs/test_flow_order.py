"""Jobs of an ordered flow key: each starts when all before it are over, whatever ends them, and none is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp import jobs
from tasksapp.biz_types.validation import complaints
from tasksapp.errors import InvalidJob, NotFirst
from tasksapp.jobs import completion
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.jobs.creation import create
from tasksapp.jobs.running_job import RunningJob
from tasksapp.maintenance.purger import Purger
from tasksapp.models import BizType, Job, Status, Transition
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.claim_jobs import Pulling
from tasksapp.timers.redis_clock import RedisClock
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.claiming import return_lost

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = timedelta(seconds=1)
BLOCKS, LETS_GO = BizType.Ordered.BLOCKS, BizType.Ordered.LETS_GO


@pytest.fixture
def ordered(make_biz_type: MakeBizType) -> BizType:
    return make_biz_type("ship", ordered=BLOCKS, max_attempts=2, backoff_min_seconds=0, jitter=0)


@pytest.fixture
def lets_go(make_biz_type: MakeBizType) -> BizType:
    return make_biz_type("ship", ordered=LETS_GO, max_attempts=2, backoff_min_seconds=0, jitter=0)


def line(count: int, *, key: str = "anna", ago: float = 60) -> list[UUID]:
    """The ids of so many jobs of a flow key that were due one after the other."""
    begin = timezone.now() - timedelta(seconds=ago)
    return [create("ship", flow_key=key, due_at=begin + number * SECOND).job_id for number in range(count)]


def taken(answer: ClaimAnswer) -> list[UUID]:
    return [job.id for job in answer.claimed]


def end(
    completer: Completer, claimer: Claimer, job_id: UUID, transition: Transition = Transition.SUCCEED, **fields: Any
) -> RunningJob:
    """Claims the job and ends it so."""
    (job,) = claimer.running_jobs(claimer.claim_due([job_id], now_ms=0))
    finish(completer, job, transition, **fields)
    return job


def finish(completer: Completer, job: RunningJob, transition: Transition, **fields: Any) -> None:
    finished = completion.Finished(
        job.id, job.token, transition, **{
            "next_run_at": None, "counted": 1, "system_errors": 0, "last_error": "", "error_class": "", "tried": None,
            **fields,
        },
    )  # fmt: skip
    completer.complete([Completion(job, finished)])


def timers(lane: TimerLane, ids: Sequence[UUID], *, key: str = "anna") -> list[bool]:
    """Which of the jobs have a timer."""
    return [at is not None for at in lane.look("ship", [str(each) for each in ids], key=key)]


def test_a_claim_takes_the_first_of_each_key(ordered: BizType, claimer: Claimer) -> None:
    anna, eva = line(3), line(2, key="eva")

    answer = claimer.claim_due([*reversed(anna), *eva], now_ms=0)

    assert sorted(taken(answer)) == sorted([anna[0], eva[0]])
    assert sorted(answer.blocked) == sorted([*anna[1:], eva[1]])


def test_only_the_first_of_a_key_has_a_timer(ordered: BizType, lane: TimerLane) -> None:
    assert timers(lane, line(3)) == [True, False, False]


@pytest.mark.parametrize("transition", [Transition.SUCCEED, Transition.OVERLAP, Transition.RESOLVE_RETRY])
def test_the_next_goes_when_the_first_is_over(
    ordered: BizType, claimer: Claimer, completer: Completer, lane: TimerLane, transition: Transition
) -> None:
    first, second, third = line(3)
    assert claimer.claim_due([second], now_ms=0).blocked == [second]

    end(completer, claimer, first, transition)

    assert timers(lane, [second, third]) == [True, False]
    assert taken(claimer.claim_due([third, second], now_ms=0)) == [second]


def test_a_retry_keeps_the_others_waiting(ordered: BizType, claimer: Claimer, completer: Completer) -> None:
    first, second = line(2)

    end(completer, claimer, first, Transition.RETRY, next_run_at=timezone.now() + timedelta(hours=1))

    answer = claimer.claim_due([first, second], now_ms=0)
    assert (taken(answer), answer.blocked) == ([], [second])


def test_one_that_is_not_due_yet_keeps_none_that_is_due_earlier(ordered: BizType, claimer: Claimer) -> None:
    later = create("ship", flow_key="anna", delay=3_600).job_id
    (due,) = line(1)

    assert taken(claimer.claim_due([later, due], now_ms=0)) == [due]


def test_one_that_comes_late_with_an_earlier_time_goes_next_but_never_before_one_that_has_begun(
    ordered: BizType, claimer: Claimer, completer: Completer
) -> None:
    begun, waiting = line(2)
    end(completer, claimer, begun, Transition.RETRY, next_run_at=timezone.now() - SECOND)
    (late,) = line(1, ago=600)

    assert taken(claimer.claim_due([late, waiting], now_ms=0)) == []
    end(completer, claimer, begun)

    assert taken(claimer.claim_due([late, waiting], now_ms=0)) == [late]


def test_a_lost_lease_blocks_until_the_job_is_over(ordered: BizType, claimer: Claimer) -> None:
    first, second = line(2)
    claimer.claim_due([first], now_ms=0)
    Job.objects.filter(id=first).update(lease_until=timezone.now() - SECOND)

    return_lost(now=timezone.now())

    assert taken(claimer.claim_due([second, first], now_ms=0)) == [first]


@pytest.mark.parametrize("ordered_as", [BLOCKS, LETS_GO])
def test_a_dead_job_blocks_or_lets_go_as_its_biz_type_says(
    make_biz_type: MakeBizType, claimer: Claimer, completer: Completer, lane: TimerLane, ordered_as: str
) -> None:
    make_biz_type("ship", ordered=ordered_as)
    first, second = line(2)

    end(completer, claimer, first, Transition.GIVE_UP)

    assert timers(lane, [second]) == [ordered_as == LETS_GO]
    assert taken(claimer.claim_due([second], now_ms=0)) == ([second] if ordered_as == LETS_GO else [])


def test_a_job_of_at_most_once_whose_outcome_is_unknown_blocks(make_biz_type: MakeBizType, claimer: Claimer) -> None:
    make_biz_type("ship", ordered=BLOCKS, guarantee=BizType.Guarantee.AT_MOST_ONCE)
    first, second = line(2)
    claimer.claim_due([first], now_ms=0)
    Job.objects.filter(id=first).update(lease_until=timezone.now() - SECOND)

    return_lost(now=timezone.now())

    assert Job.objects.get(id=first).status == Status.DEAD
    assert claimer.claim_due([second], now_ms=0).blocked == [second]


@pytest.mark.parametrize("let_go", [jobs.drop, jobs.redrive])
def test_a_person_ends_the_block_of_a_dead_job(
    ordered: BizType, claimer: Claimer, completer: Completer, lane: TimerLane, let_go: Callable[[UUID], Job]
) -> None:
    first, second = line(2)
    end(completer, claimer, first, Transition.GIVE_UP)

    let_go(first)

    expected = second if let_go is jobs.drop else first
    assert timers(lane, [expected]) == [True]
    assert taken(claimer.claim_due([first, second], now_ms=0)) == [expected]


def test_a_cancelled_and_a_resolved_job_let_the_next_go(ordered: BizType, claimer: Claimer, lane: TimerLane) -> None:
    first, third = line(1)[0], line(1, ago=10)[0]
    second = create("ship", biz_id="7", flow_key="anna", due_at=timezone.now() - 30 * SECOND).job_id

    jobs.cancel(first)
    assert timers(lane, [second, third]) == [True, False]
    jobs.resolve("ship", "7")

    assert timers(lane, [third]) == [True]
    assert taken(claimer.claim_due([third], now_ms=0)) == [third]


def test_one_that_expired_without_a_try_lets_the_next_go(ordered: BizType, claimer: Claimer, lane: TimerLane) -> None:
    now = timezone.now()
    first = create("ship", flow_key="anna", due_at=now - 60 * SECOND, expires_at=now - 50 * SECOND).job_id
    (second,) = line(1, ago=30)

    assert claimer.claim_due([first], now_ms=0).ended == [first]

    assert timers(lane, [second]) == [True]
    assert taken(claimer.claim_due([second], now_ms=0)) == [second]


def test_a_blocking_dead_job_outlives_its_retention(
    ordered: BizType, claimer: Claimer, completer: Completer, clock: RedisClock
) -> None:
    first, second = line(2)
    end(completer, claimer, first, Transition.GIVE_UP)
    Job.objects.filter(id=first).update(finished_at=timezone.now() - timedelta(days=99))

    list(Purger(using="default", clock=clock).batches())

    assert claimer.claim_due([second], now_ms=0).blocked == [second]
    jobs.drop(first)
    Job.objects.filter(id=first).update(finished_at=timezone.now() - timedelta(days=99))
    list(Purger(using="default", clock=clock).batches())
    assert not Job.objects.filter(id=first).exists()


def test_a_redriven_job_goes_next_and_several_go_by_their_places(
    lets_go: BizType, claimer: Claimer, completer: Completer
) -> None:
    first, second, third = line(3)
    for dead in (first, second):
        end(completer, claimer, dead, Transition.GIVE_UP)
    (running,) = claimer.running_jobs(claimer.claim_due([third], now_ms=0))

    jobs.redrive(second)
    jobs.redrive(first)

    assert taken(claimer.claim_due([first, second], now_ms=0)) == []
    finish(completer, running, Transition.SUCCEED)
    assert taken(claimer.claim_due([second, first], now_ms=0)) == [first]


def test_a_new_time_moves_a_job_in_its_line(ordered: BizType, claimer: Claimer, completer: Completer) -> None:
    first, second = line(2)
    end(completer, claimer, first, Transition.RETRY, next_run_at=timezone.now() - SECOND)

    jobs.reschedule(first, delay=3_600)

    assert taken(claimer.claim_due([first, second], now_ms=0)) == [second]


def test_one_that_is_not_the_first_cannot_run_now(ordered: BizType) -> None:
    first, second = line(2)

    with pytest.raises(NotFirst) as refused:
        jobs.run_now(second)

    assert refused.value.first_id == first
    assert jobs.run_now(first).next_run_at <= timezone.now()
    assert jobs.apply_many(jobs.Verb.RUN_NOW, [first, second]).changed == 1


def test_jobs_in_order_have_no_priority_of_their_own(ordered: BizType) -> None:
    with pytest.raises(InvalidJob, match="priority"):
        create("ship", flow_key="anna", priority=1)
    job = create("ship", flow_key="anna").job_id
    with pytest.raises(InvalidJob, match="priority"):
        jobs.edit(job, priority=1)

    assert create("ship", priority=1).job.priority == 1


def test_jobs_without_a_flow_key_are_in_no_order(ordered: BizType, claimer: Claimer) -> None:
    ids = [create("ship", due_at=timezone.now() - SECOND).job_id for _ in range(3)]

    assert sorted(taken(claimer.claim_due(ids, now_ms=0))) == sorted(ids)


def test_another_flow_key_gives_the_job_a_place_there(ordered: BizType, claimer: Claimer, lane: TimerLane) -> None:
    first, second = line(2)
    eva = line(1, key="eva")

    jobs.edit(first, flow_key="eva")

    assert timers(lane, [second]) == [True]
    assert timers(lane, [first]) == [False]
    assert timers(lane, [first], key="eva") == [True]
    assert sorted(taken(claimer.claim_due([second, *eva, first], now_ms=0))) == sorted([second, first])
    jobs.edit(*eva, flow_key="")
    assert Job.objects.get(id=eva[0]).place is None


def test_a_puller_gets_one_of_a_key(make_biz_type: MakeBizType, claimer: Claimer) -> None:
    make_biz_type("ship", ordered=BLOCKS, target="pull", url="")
    first, second = line(2)

    answer = claimer.claim_pulled([second, first], now_ms=0, pulling=Pulling(token=7, lease_seconds=900))

    assert (taken(answer), answer.blocked) == ([first], [second])


def test_a_message_of_a_celery_task_blocks_from_when_it_is_sent(make_biz_type: MakeBizType, claimer: Claimer) -> None:
    make_biz_type("ship", ordered=BLOCKS, target="celery", task_name="shop.ship")
    first, second = line(2)

    answer = claimer.claim_due([second, first], now_ms=0)

    assert ([job.id for job in answer.forwarded], answer.blocked) == ([first], [second])
    assert claimer.claim_due([second], now_ms=0).blocked == [second]
    assert taken(claimer.claim_forwarded(first, now_ms=0)) == [first]


@pytest.mark.postgresql_only
def test_a_message_whose_key_is_held_makes_its_job_free_to_be_claimed_again(
    make_biz_type: MakeBizType, claimer: Claimer
) -> None:
    make_biz_type("ship", ordered=BLOCKS, target="celery", task_name="shop.ship")
    (first,) = line(1)
    claimer.claim_due([first], now_ms=0)

    with transaction.atomic():
        create("ship", flow_key="anna")
        (answer,) = at_once(partial(claimer.claim_forwarded, first, now_ms=0))

    assert answer.locked == [first]
    assert [job.id for job in claimer.claim_due([first], now_ms=0).forwarded] == [first]


def test_order_is_not_switched_on_again_while_jobs_run_that_were_in_order_before(
    make_biz_type: MakeBizType, claimer: Claimer
) -> None:
    biz_type = make_biz_type("ship", ordered=BLOCKS)
    first, _ = line(2)
    BizType.objects.update(ordered=BizType.Ordered.NO)
    claimer.claim_due([first], now_ms=0)

    assert "ordered" in complaints(biz_type)
    Job.objects.filter(id=first).update(status=Status.SUCCEEDED, lease_until=None)
    assert "ordered" not in complaints(biz_type)


def test_order_counts_for_jobs_that_come_after_it_is_switched_on(make_biz_type: MakeBizType, claimer: Claimer) -> None:
    biz_type = make_biz_type("ship")
    before = line(2)
    biz_type.ordered = BLOCKS
    biz_type.save()
    first, second = line(2, ago=600)

    assert sorted(taken(claimer.claim_due([*before, second, first], now_ms=0))) == sorted([*before, first])


def test_switching_order_off_lets_all_go(ordered: BizType, claimer: Claimer) -> None:
    ids = line(3)
    ordered.ordered = BizType.Ordered.NO
    ordered.save()

    assert sorted(taken(claimer.claim_due(ids, now_ms=0))) == sorted(ids)
