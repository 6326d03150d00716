"""What has been kept long enough goes, a batch at a time, and nothing else does."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp.models import Attempt, BizType, IdempotencyKey, Job, Status
from tasksapp.sql.purge_rows import Purged, count_old_jobs, old_keys, purge, purge_jobs
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.stored_jobs import ended
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def test_counts_add_up() -> None:
    assert sum([Purged(1, 2, 3), Purged(keys=4)], start=Purged()) == Purged(1, 2, 7)
    with pytest.raises(TypeError):
        Purged() + 1  # type: ignore[operator]  # that is the point


def test_jobs_that_ended_before_go_with_their_attempts(biz_type: BizType) -> None:
    ended(biz_type, 3 * DAY, attempts=2)
    kept = ended(biz_type, DAY, attempts=1)
    before = timezone.now() - 2 * DAY

    assert count_old_jobs(biz_type.id, before=before, using="default") == Purged(1, 2)
    assert purge_jobs(biz_type.id, before=before, using="default") == Purged(1, 2)

    assert list(Job.objects.all()) == [kept]
    assert Attempt.objects.get().job == kept


@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING])
def test_a_live_job_stays_however_old(status: Status, biz_type: BizType) -> None:
    store_job(biz_type, status, due_in=-90 * DAY)

    assert purge_jobs(biz_type.id, before=timezone.now(), using="default") == Purged()


def test_jobs_of_another_biz_type_stay(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    ended(make_biz_type("other"), 9 * DAY)

    assert purge_jobs(biz_type.id, before=timezone.now(), using="default") == Purged()


def test_a_batch_takes_the_oldest(biz_type: BizType) -> None:
    old, older, oldest = (ended(biz_type, days * DAY) for days in (3, 4, 5))

    assert purge_jobs(biz_type.id, before=timezone.now(), using="default", limit=2).jobs == 2

    assert list(Job.objects.all()) == [old]
    assert {older, oldest}.isdisjoint(Job.objects.all())


def test_keys_that_expired_go_a_batch_at_a_time(biz_type: BizType) -> None:
    now = timezone.now()
    for key, days in (("0", -2), ("1", -1), ("2", 1)):
        IdempotencyKey.objects.create(biz_type=biz_type, key=key, job_id=UUID(int=0), expires_at=now + days * DAY)

    old = old_keys(before=now, using="default")
    assert [key.key for key in old] == ["0", "1"]
    assert purge(old, limit=1) == 1
    assert purge(old) == 1
    assert purge(old) == 0

    assert IdempotencyKey.objects.get().key == "2"
