"""Jobs whose workers were lost go back, and those that lose theirs too often are dead."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.models import BizType, Job, Status
from tasksapp.sql.leases import LOST, TOO_MANY, UNKNOWN, return_lost_leases
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim, return_lost
from tests.integration.tasksapp.stored_jobs import due

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


def test_a_lost_job_comes_back_without_using_an_attempt_until_it_was_lost_too_often(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    fates = []
    for _ in range(3):
        claim(job_id, now=now)
        now += HOUR
        (lost,) = return_lost(now=now)
        now += HOUR
        stored = Job.objects.get()
        assert lost.status == stored.status
        assert stored.error_class == "lost"
        fates.append((stored.status, stored.attempts, stored.system_errors, stored.last_error))

    assert fates == [(Status.PENDING, 0, 1, LOST), (Status.PENDING, 0, 2, LOST), (Status.DEAD, 0, 3, TOO_MANY)]


def test_a_lost_job_that_may_be_sent_once_is_dead(make_biz_type: MakeBizType) -> None:
    make_biz_type("once", guarantee="at_most_once")
    job_id, now = due("once"), timezone.now()
    claim(job_id)

    return_lost(now=now + HOUR)

    stored = Job.objects.get()
    assert (stored.status, stored.last_error, stored.finished_at) == (Status.DEAD, UNKNOWN, now + HOUR)
    assert stored.error_class == "outcome_unknown"


@pytest.mark.parametrize(("errors_before", "seconds"), [(0, 0), (1, 2), (3, 8), (20, 300), (10_000, 300)])
def test_a_job_that_may_kill_its_workers_comes_back_more_and_more_slowly(
    errors_before: int, seconds: int, biz_type: BizType
) -> None:
    job_id, now = due(), timezone.now()
    claim(job_id)
    Job.objects.update(system_errors=errors_before)

    (lost,) = return_lost_leases(now=now + HOUR, limit=9, max_system_errors=20_000, using="default")

    assert lost.next_run_at == Job.objects.get().next_run_at == now + HOUR + timedelta(seconds=seconds)


def test_what_is_given_back_has_no_lease(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    version = Job.objects.get().version
    claim(job_id)

    return_lost(now=now + HOUR)

    stored = Job.objects.get()
    assert (stored.lease_until, stored.lease_token, stored.finished_at) == (None, None, None)
    assert stored.version == version + 2


def test_a_lease_that_holds_stays(biz_type: BizType) -> None:
    job_id, now = due(), timezone.now()
    claim(job_id, now=now)

    assert return_lost(now=now + timedelta(seconds=30)) == []
    assert Job.objects.get().status == Status.RUNNING


def test_so_many_go_back_at_a_time_the_longest_lost_first(biz_type: BizType) -> None:
    ids, now = [due() for _ in range(3)], timezone.now()
    claim(*ids, now=now)
    for minutes, job_id in enumerate(ids):
        Job.objects.filter(id=job_id).update(lease_until=now - timedelta(minutes=minutes))

    lost = return_lost_leases(now=now + HOUR, limit=2, max_system_errors=3, using="default")

    assert [job.id for job in lost] == ids[:0:-1]
