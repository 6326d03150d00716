"""Overlap: what the claim does where the job before of the same series has not finished."""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from tasksapp import jobs, series
from tasksapp.models import BizType, Job, Series, Status, Transition
from tasksapp.models.job_id import new_job_ids
from tasksapp.series.maker import new_job
from tasksapp.sql.occurrences import NewOccurrence, insert_occurrences
from tasksapp.sql.series_overlap import WAIT, release_series, series_with_ended_jobs
from tasksapp.sql.write_outcomes import write_outcomes
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim
from tests.integration.tasksapp.conflicting import conflicts
from tests.outcomes import finished
from tests.property_sizes import examples

pytestmark = pytest.mark.django_db(transaction=True)

#: Races of two workers for two jobs of one series. `make nightly` runs many more.
RACES = int(os.environ.get("DELAYHUB_OVERLAP_RACES", examples(40)))


def of_overlap(overlap: str) -> Series:
    return series.create("order.close", name=overlap, times=[], cron="0 0 1 1 *", overlap=overlap)


def due_jobs(row: Series, count: int = 2) -> list[UUID]:
    """Jobs of the series that are due, the oldest occurrence first."""
    now, ids = timezone.now(), new_job_ids(count)
    # So close together that none is at the moment of another pair.
    times = [now - timedelta(microseconds=count - number) for number in range(count)]
    biz_type = BizType.objects.get(id=row.biz_type_id)
    rows = [
        NewOccurrence(new_job(row, biz_type, job_id=job_id, due_at=at), row.pk, at)
        for job_id, at in zip(ids, times, strict=True)
    ]
    insert_occurrences(rows, now=now, using="default")
    return list(ids)


def end(job_id: UUID, token: int, transition: Transition = Transition.SUCCEED, **fields: object) -> list[Job]:
    """Writes how the job's attempt ended; gives back the jobs that waited for it."""
    now = timezone.now()
    write_outcomes([finished(job_id, token, transition, **fields)], now=now, worker="w", using="default")
    return release_series([Job.objects.get(id=job_id).series_id or 0], now=now, using="default")


def statuses(ids: list[UUID]) -> list[str]:
    known = dict(Job.objects.filter(id__in=ids).values_list("id", "status"))
    return [known[job_id] for job_id in ids]


def live(row: Series) -> UUID | None:
    row.refresh_from_db()
    return row.live_job


def test_those_that_start_all_the_same_run_beside_each_other(biz_type: BizType) -> None:
    row = of_overlap("start")
    ids = due_jobs(row)

    answer = claim(*ids)

    assert {job.id for job in answer.claimed} == set(ids)
    assert live(row) is None


def test_one_is_skipped_while_the_one_before_lives_retries_included(biz_type: BizType) -> None:
    row = of_overlap("skip")
    first, second = due_jobs(row)

    answer = claim(first)
    retry = timezone.now()
    end(first, answer.token, Transition.RETRY, next_run_at=retry)
    skipped = claim(second)
    again = claim(first, now=retry)

    assert live(row) == first
    assert (skipped.claimed, skipped.ended) == ([], [second])
    assert Job.objects.get(id=second).error_class == "overlap"
    assert [job.id for job in again.claimed] == [first]
    end(first, again.token)
    assert live(row) is None
    (third,) = due_jobs(row, 1)
    assert [job.id for job in claim(third).claimed] == [third]


def test_of_several_in_one_claim_the_first_runs(biz_type: BizType) -> None:
    row = of_overlap("skip")
    ids = due_jobs(row, 4)

    answer = claim(*reversed(ids))

    assert [job.id for job in answer.claimed] == ids[:1]
    assert statuses(ids) == ["running", "skipped", "skipped", "skipped"]


def test_an_attempt_that_was_counted_beforehand_is_taken_back(make_biz_type: MakeBizType, biz_type: BizType) -> None:
    BizType.objects.update(guarantee="at_most_once")
    row = of_overlap("skip")
    ids = due_jobs(row)

    claim(*ids)

    assert dict(Job.objects.filter(id__in=ids).values_list("id", "attempts")) == {ids[0]: 1, ids[1]: 0}


def test_a_live_job_that_waits_for_its_retry_is_cancelled_by_the_next(biz_type: BizType) -> None:
    row = of_overlap("cancel")
    first, second = due_jobs(row)
    answer = claim(first)
    end(first, answer.token, Transition.RETRY, next_run_at=timezone.now() + timedelta(hours=1))

    after = claim(second)

    assert [job.id for job in after.claimed] == [second]
    assert statuses([first, second]) == ["cancelled", "running"]
    assert live(row) == second


@pytest.mark.parametrize(("transition", "became"), [(Transition.RETRY, "cancelled"), (Transition.SUCCEED, "succeeded")])
def test_a_running_attempt_is_let_end_is_not_retried_and_the_new_one_starts_after_it(
    biz_type: BizType, transition: Transition, became: str
) -> None:
    row = of_overlap("cancel")
    first, second = due_jobs(row)
    answer = claim(first)

    waits = claim(second)

    assert (waits.claimed, [job_id for job_id, _ in waits.not_due]) == ([], [second])
    assert Job.objects.get(id=second).next_run_at > timezone.now() + WAIT / 2
    retry_at = {"next_run_at": timezone.now()} if transition is Transition.RETRY else {}
    woken = end(first, answer.token, transition, **retry_at)
    assert [job.id for job in woken] == [second]
    assert statuses([first]) == [became]
    assert [job.id for job in claim(second).claimed] == [second]
    assert live(row) == second


def test_of_those_that_wait_for_a_running_one_the_latest_takes_its_place(biz_type: BizType) -> None:
    row = of_overlap("cancel")
    first, second, third = due_jobs(row, 3)
    answer = claim(first)

    claim(second)
    claim(third)
    Job.objects.filter(id=first).update(status=Status.PENDING, lease_token=None)  # its worker was lost
    retried = claim(first)

    assert statuses([second]) == ["cancelled"]
    assert (retried.claimed, [job_id for job_id, _ in retried.not_due]) == ([], [third])
    assert [job.id for job in claim(third).claimed] == [third]
    assert answer.token != retried.token


def test_an_older_occurrence_takes_no_newer_ones_place(biz_type: BizType) -> None:
    row = of_overlap("cancel")
    first, second = due_jobs(row)
    claim(second)

    assert claim(first).ended == [first]
    assert live(row) == second


def test_a_live_job_that_ended_without_a_word_holds_up_nothing(biz_type: BizType) -> None:
    row = of_overlap("skip")
    first, second = due_jobs(row)
    answer = claim(first)
    end(first, answer.token, Transition.RETRY, next_run_at=timezone.now() + timedelta(hours=1))
    jobs.cancel(first)

    assert series_with_ended_jobs(limit=10, using="default") == [row.pk]
    assert [job.id for job in claim(second).claimed] == [second]
    assert series_with_ended_jobs(limit=10, using="default") == []


@pytest.mark.postgresql_only
@pytest.mark.timeout(0)
@pytest.mark.parametrize("overlap", ["skip", "cancel"])
def test_two_workers_never_run_two_jobs_of_a_series_at_once(biz_type: BizType, overlap: str) -> None:
    row = of_overlap(overlap)
    pairs = [due_jobs(row) for _ in range(RACES)]
    both, wrong = threading.Barrier(2, timeout=60), []

    def race(side: int) -> None:
        for pair in pairs:
            both.wait()
            answer = claim(pair[side])
            both.wait()
            if side == 0:
                running = Job.objects.filter(id__in=pair, status=Status.RUNNING).count()
                if running != 1:
                    wrong.append(statuses(pair))
            both.wait()
            for job in answer.claimed:
                end(job.id, answer.token)
            both.wait()
            if side == 0:
                Job.objects.filter(id__in=pair, status=Status.PENDING).update(status=Status.CANCELLED)
                Series.objects.update(live_job=None, waiting_job=None)
        connection.close()

    workers = [threading.Thread(target=race, args=(side,)) for side in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert wrong == []
    assert Job.objects.filter(status=Status.SUCCEEDED).count() == RACES


def test_a_claim_whose_decisions_meet_another_transaction_keeps_what_it_claimed(biz_type: BizType) -> None:
    ids = due_jobs(of_overlap("skip"))

    with conflicts() as refusing:
        answer = claim(*ids)

    assert any("delayhub_series" in sql for sql in refusing.refused)
    assert [job.id for job in answer.claimed] == ids[:1]
    assert answer.ended == ids[1:]
    assert not answer.gone
    assert statuses(ids) == [Status.RUNNING, Status.SKIPPED]
