"""A believable shop on a bad morning, as rows: what the pages of the admin show in tests and screenshots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from tasksapp.models import (
    Alert,
    AlertKind,
    AlertMessage,
    AlertSilence,
    Attempt,
    AuditEntry,
    BizType,
    DeadCount,
    Job,
    JobCount,
    Operation,
    Pulse,
    Series,
    Status,
    Upcoming,
)
from tasksapp.stats.histogram import bucket_of
from tests.job_rows import store_job

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
#: Hours ago in which the receiver was down; not the last hour, which is left out until it is summed.
HOURS_DOWN = (2, 3)
#: A body with what tables break at: long numbers, other scripts, text that is no English word.
BODY = (
    '{"order": 90071992547409931, "amount": 1e2, "customer": {"name": "王小明", "mail": "xm@example.com"},'
    ' "note": "the customer did not pay", "items": [{"sku": "A-1", "count": 2}, {"sku": "B-7", "count": 1}]}'
)


@dataclass(frozen=True)
class Scene:
    """The rows that pages are about.

    Args:
        closing: a biz type whose receiver fails.
        paused: a biz type that is paused.
        task: a biz type that runs a Celery task.
        waiting, dead, done, cancelled: a job each.
        running_operation, planned_operation, done_operation: an operation each.
        series: jobs that repeat.
    """

    closing: BizType
    paused: BizType
    task: BizType
    waiting: Job
    dead: Job
    done: Job
    cancelled: Job
    running_operation: Operation
    planned_operation: Operation
    done_operation: Operation
    series: Series


def store_scene() -> Scene:
    """The scene, stored."""
    now = timezone.now()
    closing, paused, task = _biz_types(now)
    dead = store_job(
        closing, Status.DEAD, due_in=-HOUR, biz_id="order-90041", attempts=3, body=BODY, error_class="http.503",
        last_error="all 3 attempts failed; the last: the receiver answered 503", created_by="api:checkout",
    )  # fmt: skip
    _store_attempts(dead)
    for number in range(30):
        kind, why = (("http.503", "the receiver answered 503"), ("timeout", "no answer within 10 s"))[number % 2]
        store_job(
            closing, Status.DEAD, due_in=-HOUR + number * MINUTE, biz_id=f"order-{number}", attempts=3, body=BODY,
            error_class=kind, last_error=f"all 3 attempts failed; the last: {why}", created_by="api:checkout",
        )  # fmt: skip
        store_job(closing, due_in=number * MINUTE, biz_id=f"order-1{number:03}", body=BODY, created_by="api:checkout")
        store_job(closing, Status.SUCCEEDED, due_in=-HOUR, biz_id=f"order-2{number:03}", attempts=1, body=BODY)
    waiting = store_job(
        closing, due_in=27 * MINUTE, biz_id="order-90041", body=BODY, created_by="api:checkout", changed_by="ada"
    )
    store_job(paused, due_in=-MINUTE, biz_id="newsletter-" + "x" * 60, body=BODY)
    store_job(task, due_in=HOUR, biz_id="report-7", body='{"args": [7], "kwargs": {}}')
    done = store_job(closing, Status.SUCCEEDED, due_in=-HOUR, biz_id="order-90040", attempts=1, body=BODY)
    cancelled = store_job(closing, Status.CANCELLED, due_in=-HOUR, biz_id="order-90039", body=BODY, changed_by="ada")
    _store_deeds(now, job=waiting, closing=closing, paused=paused)
    _store_numbers(now, closing=closing, paused=paused, task=task)
    store_alerts(now, closing=closing)
    operations = _operations(now, closing)
    return Scene(closing, paused, task, waiting, dead, done, cancelled, *operations, _series(now, task))


def _series(now: datetime, biz_type: BizType) -> Series:
    """A report of every working day, with some jobs so far; and one that is paused."""
    row = Series.objects.create(
        biz_type=biz_type, name="morning report", cron="0 9 * * 1-5", time_zone="Asia/Shanghai", overlap="skip",
        jitter=MINUTE, made=4, next_occurrence_at=now + 24 * HOUR, make_at=now + HOUR, body=BODY,
        created_at=now - 96 * HOUR, updated_at=now,
    )  # fmt: skip
    for days, status in ((3, Status.SUCCEEDED), (2, Status.DEAD), (1, Status.SKIPPED)):
        at = now.replace(hour=1, minute=0, second=0, microsecond=0) - days * 24 * HOUR
        kind = {Status.DEAD: "http.503", Status.SKIPPED: "overlap"}.get(status, "")
        store_job(
            biz_type, status, due_in=at - now, series_id=row.pk, occurrence_at=at, attempts=int(days > 1),
            error_class=kind,
        )  # fmt: skip
    Series.objects.create(
        biz_type=biz_type, name="hourly check", every=HOUR, anchor=now, paused_at=now - HOUR, paused_by="ada",
        pause_reason="holidays", created_at=now - 96 * HOUR, updated_at=now,
    )  # fmt: skip
    return row


def store_alerts(now: datetime, *, closing: BizType) -> None:
    """Two alerts that are open, one that comes and goes, and one that is over."""
    about = {"biz_type": closing.code, "host": "shop.example", "died": 44_667, "dead": 44_667, "errors": {"timeout": 9}}
    down = Alert.objects.create(
        kind=AlertKind.BREAKER_OPEN, biz_type_id=closing.pk, began_at=now - 12 * MINUTE, told_at=now - 12 * MINUTE,
        facts=about, sentence="its receiver is down", returns=2,
    )  # fmt: skip
    died = Alert.objects.create(
        kind=AlertKind.DEAD, biz_type_id=closing.pk, began_at=now - HOUR, told_at=now - HOUR, facts=about,
        sentence="jobs die",
    )  # fmt: skip
    AlertSilence.objects.create(
        kind=AlertKind.OVERDUE, biz_type_id=closing.pk, began_at=now - HOUR, until=now + HOUR, by="ada",
        reason="stock count",
    )  # fmt: skip
    over = Alert.objects.create(
        kind=AlertKind.REDIS_AWAY, began_at=now - 5 * HOUR, told_at=now - 5 * HOUR, ended_at=now - 4 * HOUR,
        recovery_told_at=now - 4 * HOUR, sentence="Redis does not answer",
    )  # fmt: skip
    sent = AlertMessage.objects.create(
        channel="mail", address="ada@shop.example", subject="down", text="down", created_at=now - HOUR,
        sent_at=now - HOUR,
    )  # fmt: skip
    failing = AlertMessage.objects.create(
        channel="webhook", address="https://chat.example/hooks/a-secret-path", subject="down", text="down",
        created_at=now - 12 * MINUTE, next_at=now + MINUTE, failed_sends=4, last_error="the receiver answered 503",
    )  # fmt: skip
    sent.alerts.set([died, over])
    failing.alerts.set([down])


def _biz_types(now: datetime) -> tuple[BizType, BizType, BizType]:
    closing = BizType(
        code="order.close", name="Close unpaid orders", url="https://shop.example/hooks/close", delivery_rate=500,
        auth=BizType.Auth.BEARER, headers={"X-Api-Key": "the-header-secret"}, max_attempts=3,
        description="Cancels an order that is not paid within 30 minutes.",
    )  # fmt: skip
    closing.signing_secret = "whsec_" + "c2VjcmV0" * 4
    closing.auth_secret = "the-auth-secret"
    closing.save()
    paused = BizType.objects.create(
        code="newsletter.send", name="Newsletter", url="https://mail.example/hooks/send", max_in_flight=20,
        paused_until=now + 5 * HOUR, paused_by="ada", pause_reason="the mail provider moves",
    )  # fmt: skip
    task = BizType.objects.create(
        code="report.make", name="Nightly reports", target=BizType.Target.CELERY, task_name="reports.tasks.make"
    )
    return closing, paused, task


def _store_attempts(job: Job) -> None:
    for number in (1, 2, 3):
        Attempt.objects.create(
            job=job, number=number, started_at=job.due_at + number * MINUTE, duration_ms=28 * number,
            lateness_ms=number,
            status_code=503, error="the receiver answered 503", worker="w1:4711",
            request_line="POST https://shop.example/hooks/close",
            request_headers={"content-type": "application/json", "webhook-id": str(job.id), "authorization": "•••"},
            response_headers={"Content-Type": "text/plain", "Retry-After": "10"},
            response_body="upstream connect error or disconnect before headers",
        )  # fmt: skip


def _store_deeds(now: datetime, *, job: Job, closing: BizType, paused: BizType) -> None:
    deeds: list[dict[str, Any]] = [
        {"verb": "reschedule", "job_id": job.id, "what": job.biz_id, "after": {"due_at": job.due_at.isoformat()}},
        {"verb": "biz_type.pause", "biz_type_id": paused.id, "what": paused.code, "reason": "the mail provider moves"},
        {"verb": "biz_type.edit", "biz_type_id": closing.id, "what": closing.code, "before": {"delivery_rate": 200},
         "after": {"delivery_rate": 500}},
    ]  # fmt: skip
    for number, deed in enumerate(deeds):
        AuditEntry.objects.create(at=now - number * 10 * MINUTE, actor="ada", address="192.0.2.7", **deed)


def _store_numbers(now: datetime, *, closing: BizType, paused: BizType, task: BizType) -> None:
    for biz_type, pending, due, dead in (
        (closing, 349_120, 12_300, 44_667),
        (paused, 8_400, 8_400, 0),
        (task, 12, 0, 0),
    ):
        JobCount.objects.create(
            biz_type=biz_type, pending=pending, due_now=due, running=4_012 if dead else 0, dead=dead,
            oldest_due_at=now - 41 * SECOND if due else None, next_due_at=now + 3 * SECOND, counted_at=now,
        )  # fmt: skip
    for kind, count in (("http.503", 42_000), ("timeout", 2_600), ("refused", 67)):
        DeadCount.objects.create(
            biz_type=closing,
            error_class=kind,
            dead=count,
            first_at=now - 2 * HOUR,
            last_at=now - HOUR / 2,
            counted_at=now,
        )
        # Else the overview says that none died today.
        hour = now.replace(minute=0, second=0, microsecond=0)
        Pulse.objects.bulk_create(
            _pulse(closing, hour - ago * HOUR, 3600, Pulse.Kind.DEAD, kind, died)
            for ago, died in zip(HOURS_DOWN, (count // 2, count - count // 2), strict=True)
        )
    _store_pulses(now, closing=closing)
    begin = now.replace(second=0, microsecond=0)
    Upcoming.objects.bulk_create(
        Upcoming(
            biz_type=closing, at=begin + number * 5 * MINUTE, span_seconds=300, counted_at=now,
            jobs=200_000 if number == 150 else 900 + 31 * (number % 40),
        )
        for number in range(288)
    )  # fmt: skip
    Upcoming.objects.bulk_create(
        Upcoming(
            biz_type=closing, at=begin.replace(hour=0, minute=0) + number * 24 * HOUR, span_seconds=86_400,
            counted_at=now, jobs=400_000 - 9_000 * number,
        )
        for number in range(30)
    )  # fmt: skip


def _store_pulses(now: datetime, *, closing: BizType) -> None:
    begin = now.replace(minute=now.minute // 10 * 10, second=0, microsecond=0)
    found: list[Pulse] = []
    for number in range(144):
        was_down = 6 <= number < 12
        late_ms = 41_000 if was_down else 8 + number % 5
        counts = {
            ("succeeded", ""): 0 if was_down else 17_000 + 900 * (number % 7),
            ("failed", "http.503"): 7_000 if was_down else 120,
            ("lateness", str(bucket_of(late_ms))): 7_000,
            ("duration", str(bucket_of(28))): 7_000,
        }
        at = begin - number * 10 * MINUTE
        found += [_pulse(closing, at, 600, kind, key, count) for (kind, key), count in counts.items()]
    minute = now.replace(second=0, microsecond=0)
    for number in range(1, 15):
        at = minute - number * MINUTE
        found += [
            _pulse(closing, at, 60, "succeeded", "", 1_900 + number),
            _pulse(closing, at, 60, "failed", "http.503", 12),
            _pulse(closing, at, 60, "lateness", str(bucket_of(8)), 1_880),
            _pulse(closing, at, 60, "lateness", str(bucket_of(41_000)), 30),
        ]
    Pulse.objects.bulk_create(found)


def _pulse(biz_type: BizType, at: datetime, span_seconds: int, kind: str, key: str, count: int) -> Pulse:
    return Pulse(biz_type=biz_type, at=at, span_seconds=span_seconds, kind=kind, key=key, count=count)


def _operations(now: datetime, closing: BizType) -> tuple[Operation, Operation, Operation]:
    chosen = {"status": "dead", "biz_type": closing.code, "error_class": "http.503"}
    shared: dict[str, Any] = {"verb": "redrive", "job_filter": chosen, "biz_type": closing, "started_by": "ada"}
    running = Operation.objects.create(
        **shared, state="running", reason="the receiver was down", planned=44_667, done=12_300, succeeded=12_241,
        failed=59, rate_per_second=74, trial_jobs=20, planned_at=now - 4 * MINUTE, started_at=now - 3 * MINUTE,
    )  # fmt: skip
    planned = Operation.objects.create(**shared, state="planned", planned=2_600, planned_at=now - MINUTE)
    done = Operation.objects.create(
        **{**shared, "verb": "cancel", "job_filter": {"status": "pending", "biz_type": closing.code}}, state="done",
        reason="duplicate import", planned=48_538, done=48_530, left=8, planned_at=now - 2 * HOUR,
        started_at=now - 2 * HOUR, finished_at=now - 2 * HOUR + MINUTE,
    )  # fmt: skip
    return running, planned, done
