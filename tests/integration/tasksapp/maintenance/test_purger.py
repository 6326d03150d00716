"""Retention: what goes, what stays, and how."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from delayhub.clock import Clock, SystemClock
from delayhub.testing import MovableClock
from tasksapp.access.actors import Actor
from tasksapp.access.audit import entry, record
from tasksapp.maintenance.loader import Loader
from tasksapp.maintenance.purger import Purger
from tasksapp.maintenance.thread import MaintenanceThread
from tasksapp.models import (
    AnswerLink,
    Attempt,
    AuditEntry,
    BizType,
    IdempotencyKey,
    Job,
    MissingFollowUp,
    Status,
)
from tasksapp.sql.purge_rows import BATCH_ROWS, Purged
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command
from tests.integration.tasksapp.stored_jobs import ended
from tests.job_rows import job_row

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)


def purge_all() -> Purged:
    return sum(purger(SystemClock()).batches(), start=Purged())


def test_what_ended_goes_after_its_retention_with_its_attempts(make_biz_type: MakeBizType) -> None:
    weekly = make_biz_type("weekly", retention=7 * DAY)
    for status in Status:
        ended(weekly, 8 * DAY, status=status, attempts=2)
    recent = ended(weekly, 6 * DAY)

    gone = purge_all()

    assert gone == Purged(5, 10)
    assert set(Job.objects.values_list("status", flat=True)) == {"pending", "running", "succeeded"}
    assert Job.objects.get(status=Status.SUCCEEDED) == recent
    assert Attempt.objects.count() == 5


def test_each_biz_type_keeps_its_jobs_as_long_as_it_wants(make_biz_type: MakeBizType) -> None:
    for code, retention in [("daily", DAY), ("monthly", 30 * DAY), ("for.ever", None)]:
        ended(make_biz_type(code, retention=retention), 20 * DAY)

    purge_all()

    assert set(Job.objects.values_list("biz_type__code", flat=True)) == {"monthly", "for.ever"}


def test_many_jobs_go_in_several_transactions(biz_type: BizType) -> None:
    many(biz_type, 1_200)

    batches = [batch.jobs for batch in purger(SystemClock()).batches()]

    assert batches == [BATCH_ROWS, BATCH_ROWS, 200]
    assert not Job.objects.exists()


def test_keys_go_when_they_expire(biz_type: BizType) -> None:
    now = timezone.now()
    job = ended(biz_type, DAY)
    for key, expires_at in [("old", now - DAY), ("new", now + DAY)]:
        IdempotencyKey.objects.create(biz_type=biz_type, key=key, request_hash="", job_id=job.id, expires_at=expires_at)

    assert purge_all() == Purged(keys=1)
    assert IdempotencyKey.objects.get().key == "new"


def test_what_workers_of_before_leave_of_jobs_goes(biz_type: BizType) -> None:
    """They delete jobs without what is kept beside them: they do not know it."""
    kept, now = ended(biz_type, timedelta(0)), timezone.now()
    left = [kept.id, uuid4(), uuid4(), kept.id]
    AnswerLink.objects.bulk_create(
        AnswerLink(biz_type=biz_type, job_id=of, hashed_token=str(n), outcomes=["ok"], expires_at=now, created_at=now)
        for n, of in enumerate(left)
    )
    MissingFollowUp.objects.bulk_create(MissingFollowUp(biz_type=biz_type, job_id=of, at=now) for of in left[:2])
    working = purger(MovableClock())

    for _ in range(4):  # a few rows are looked at in each turn
        for _ in working.batches(limit=2):
            pass

    for model in (AnswerLink, MissingFollowUp):
        assert {row.job_id for row in model._default_manager.all()} == {kept.id}
    assert AnswerLink.objects.count() == 2


def many(biz_type: BizType, count: int) -> None:
    """So many dead jobs without attempts, older than any retention."""
    Job.objects.bulk_create([job_row(biz_type, Status.DEAD, due_in=-60 * DAY) for _ in range(count)])


def purger(clock: Clock) -> Purger:
    return Purger(using="default", clock=clock)


def test_workers_purge_by_themselves(biz_type: BizType) -> None:
    many(biz_type, 3)
    thread = MaintenanceThread(Loader(using="default"))

    assert thread.run_once()

    assert not Job.objects.exists()


def test_only_the_worker_that_has_the_loader_purges(biz_type: BizType) -> None:
    many(biz_type, 3)
    Loader(using="default").run_once()

    assert MaintenanceThread(Loader(using="default")).run_once()

    assert Job.objects.count() == 3


def test_no_more_rows_go_in_a_minute_than_the_setting_says(biz_type: BizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "PURGE_ROWS_PER_MINUTE": 1_000}
    many(biz_type, 2_200)
    clock = MovableClock()
    tested = purger(clock)

    gone = []
    for _ in range(12):
        gone.append(tested.run_once().jobs)
        clock.advance(seconds=10)

    # a batch of 500 each half minute
    assert gone == [500, 0, 0, 500, 0, 0, 500, 0, 0, 500, 0, 0]


def test_attempts_count_as_rows(make_biz_type: MakeBizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "PURGE_ROWS_PER_MINUTE": 60}
    daily = make_biz_type("daily", retention=DAY)
    ended(daily, 2 * DAY, attempts=119)
    clock = MovableClock()
    tested = purger(clock)
    assert tested.run_once() == Purged(1, 119)

    # 120 rows are paid for in two minutes
    ended(daily, 2 * DAY)
    clock.advance(seconds=100)
    assert tested.run_once() == Purged()
    clock.advance(seconds=100)
    assert tested.run_once().jobs + tested.run_once().jobs == 0  # the walk's end, and its rest
    clock.advance(seconds=61)
    assert tested.run_once() == Purged(1, 1)


def test_where_nothing_is_left_it_rests(biz_type: BizType) -> None:
    clock = MovableClock()
    tested = purger(clock)
    assert tested.run_once() == Purged()

    many(biz_type, 1)
    assert tested.run_once() == Purged()
    clock.advance(seconds=61)
    assert tested.run_once() == Purged(1)


def test_it_can_be_turned_off(biz_type: BizType, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "PURGE_ROWS_PER_MINUTE": 0}
    many(biz_type, 3)

    assert purger(MovableClock()).run_once() == Purged()
    assert run_command("purge_jobs") == "deleted 3 jobs, 0 attempts, 0 idempotency keys\n"


def test_entries_of_the_audit_go_after_a_year_or_as_the_option_says(biz_type: BizType, settings: Any) -> None:
    for days in (1, 40, 400):
        record([entry("cancel", by=Actor("ada"), at=timezone.now() - days * DAY)], using="default")

    assert purge_all() == Purged(entries=1)
    settings.DELAYHUB = {**settings.DELAYHUB, "AUDIT_DAYS": 0}
    assert purge_all() == Purged()
    settings.DELAYHUB = {**settings.DELAYHUB, "AUDIT_DAYS": 30}
    assert "1 entry of the audit" in run_command("purge_jobs", "--dry-run")
    assert AuditEntry.objects.count() == 2
    assert "1 entry of the audit" in run_command("purge_jobs")
    assert AuditEntry.objects.count() == 1


def test_entries_of_the_audit_stay_where_one_biz_type_is_purged(biz_type: BizType) -> None:
    record([entry("cancel", by=Actor("ada"), at=timezone.now() - 400 * DAY)], using="default")

    run_command("purge_jobs", "--biz-type", biz_type.code)

    assert AuditEntry.objects.exists()
