"""Rules that stand twice, in the claim's SQL and in Python: over a table of cases both say the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasksapp.models import UNTIL_RESUMED, BizType, Job, Series, Status
from tasksapp.models.job import age_begins, age_used_up
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.claim_jobs import claim_jobs
from tasksapp.sql.series_overlap import SETTLE_WAIT

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
INSTANT, MINUTE = timedelta(microseconds=1), timedelta(minutes=1)


def due_job(biz_type: BizType, *, due_at: datetime = NOW, redriven_at: datetime | None = None) -> Job:
    """A pending job that is due."""
    return Job.objects.create(
        biz_type=biz_type,
        status=Status.PENDING,
        due_at=due_at,
        next_run_at=redriven_at or due_at,
        redriven_at=redriven_at,
        body="{}",
        created_at=due_at,
        updated_at=due_at,
    )


def claim(job: Job) -> ClaimAnswer:
    return claim_jobs([job.id], now=NOW, lease_seconds=60, worker="w", using="default")


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize(
    ("paused_until", "paused"),
    [
        (None, False),
        (NOW - MINUTE, False),
        # a pause is over at the moment that it names
        (NOW, False),
        (NOW + INSTANT, True),
        (NOW + MINUTE, True),
        (UNTIL_RESUMED, True),
    ],
)
def test_what_is_paused_or_disabled_is_shut_to_both(
    biz_type: BizType, *, enabled: bool, paused_until: datetime | None, paused: bool
) -> None:
    biz_type.enabled, biz_type.paused_until = enabled, paused_until
    biz_type.save()
    job = due_job(biz_type)

    answer = claim(job)

    assert biz_type.is_shut(now=NOW) == (paused or not enabled)
    assert (answer.shut == [job.id]) == biz_type.is_shut(now=NOW)
    assert (len(answer.claimed) == 1) != biz_type.is_shut(now=NOW)


@pytest.mark.parametrize(
    ("max_age", "due_ago", "redriven_ago", "used_up"),
    [
        # without an age none is used up
        (None, timedelta(days=3_000), None, False),
        # at its last moment an attempt may begin
        (MINUTE, MINUTE, None, False),
        (MINUTE, MINUTE + INSTANT, None, True),
        (timedelta(0), timedelta(0), None, False),
        (timedelta(0), INSTANT, None, True),
        # a redrive begins the age again
        (MINUTE, 5 * MINUTE, MINUTE, False),
        (MINUTE, 5 * MINUTE, MINUTE + INSTANT, True),
        # the due time and the longest age together lie beyond the last date there is
        (timedelta(days=100_000_000), MINUTE, None, False),
    ],
)
def test_an_age_is_used_up_to_both(
    biz_type: BizType,
    *,
    max_age: timedelta | None,
    due_ago: timedelta,
    redriven_ago: timedelta | None,
    used_up: bool,
) -> None:
    biz_type.max_age = max_age
    biz_type.save()
    job = due_job(biz_type, due_at=NOW - due_ago, redriven_at=None if redriven_ago is None else NOW - redriven_ago)

    answer = claim(job)

    assert age_used_up(now=NOW, counted_from=age_begins(job), max_age=max_age) == used_up
    assert (answer.ended == [job.id]) == used_up
    assert (len(answer.claimed) == 1) != used_up


@pytest.mark.parametrize(
    ("fields", "shut", "reason"),
    [
        ({}, True, "shut"),
        # whatever its gate says, its time comes first
        ({"next_run_at": NOW + INSTANT}, True, "not_due"),
        # another worker's, or ended already
        ({"lease_until": NOW + INSTANT}, False, "gone"),
        ({"status": Status.RUNNING}, False, "gone"),
        ({"status": Status.CANCELLED, "next_run_at": NOW + INSTANT}, True, "gone"),
    ],
)
def test_of_several_reasons_to_leave_a_job_the_first_counts(
    biz_type: BizType, fields: dict[str, object], *, shut: bool, reason: str
) -> None:
    job = due_job(biz_type)
    Job.objects.update(**fields)
    BizType.objects.update(enabled=not shut)

    answer = claim_jobs([job.id], now=NOW, lease_seconds=60, worker="w", using="default", forward_seconds=30)

    reasons = {name: getattr(answer, name) for name in ("not_due", "shut", "locked", "gone", "claimed")}
    assert {name for name, found in reasons.items() if found} == {reason}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, Status.SKIPPED),
        ({"attempts": 1}, Status.DEAD),
        # a person's redrive counts for more
        ({"attempts": 1, "attempt_base": 1, "redriven_at": NOW}, Status.RUNNING),
        ({"expires_at": NOW + INSTANT}, Status.RUNNING),
    ],
)
def test_no_attempt_of_a_job_begins_from_its_own_end_on(
    biz_type: BizType, fields: dict[str, object], status: Status
) -> None:
    job = due_job(biz_type, due_at=NOW - MINUTE)
    Job.objects.update(**{"expires_at": NOW, **fields})

    answer = claim(job)

    job.refresh_from_db()
    expired = status != Status.RUNNING
    assert (job.status, job.last_error) == (status, "it expired: expires_at has passed" if expired else "")
    assert (answer.ended, len(answer.claimed)) == ([job.id] if expired else [], int(not expired))


@pytest.mark.parametrize(
    ("fields", "biz_type_fields", "looked_at_ago", "waits"),
    [
        # nobody has looked at its series for more than a minute: what that made late is not said yet
        ({}, {"when_late": "skip"}, MINUTE + INSTANT, True),
        ({}, {"when_late": "dead"}, MINUTE + INSTANT, True),
        ({}, {"when_late": "dead", "on_dead": "other"}, MINUTE + INSTANT, True),
        ({}, {"max_age": MINUTE}, MINUTE + INSTANT, True),
        # there was a worker, so it is late for another reason
        ({}, {"when_late": "skip"}, MINUTE, False),
        ({}, {"max_age": MINUTE}, None, False),
        # triggered by hand
        ({"occurrence_at": None}, {"when_late": "skip"}, 5 * MINUTE, False),
        # a worker had it before
        ({"attempts": 1}, {"max_age": MINUTE}, 5 * MINUTE, False),
        # its own end has nothing to do with an outage
        ({"expires_at": NOW}, {"when_late": "skip"}, 5 * MINUTE, False),
    ],
)
def test_an_occurrence_that_is_too_late_waits_until_its_series_has_said_what_an_outage_made_late(
    biz_type: BizType,
    fields: dict[str, object],
    biz_type_fields: dict[str, object],
    looked_at_ago: timedelta | None,
    *,
    waits: bool,
) -> None:
    job = due_job(biz_type, due_at=NOW - 5 * MINUTE)
    BizType.objects.update(**{"max_lateness": MINUTE, **biz_type_fields})
    make_at = None if looked_at_ago is None else NOW - looked_at_ago
    series = Series.objects.create(biz_type=biz_type, name="a", make_at=make_at, created_at=NOW, updated_at=NOW)
    Job.objects.update(**{"series": series, "occurrence_at": NOW - 5 * MINUTE, **fields})

    answer = claim(job)

    assert answer.claimed == []
    assert (answer.not_due, answer.ended) == (([(job.id, NOW + SETTLE_WAIT)], []) if waits else ([], [job.id]))


def test_an_occurrence_that_is_late_and_not_too_late_waits_for_nothing(biz_type: BizType) -> None:
    job = due_job(biz_type, due_at=NOW - 5 * MINUTE)
    series = Series.objects.create(
        biz_type=biz_type, name="a", make_at=NOW - 5 * MINUTE, created_at=NOW, updated_at=NOW
    )
    Job.objects.update(series=series, occurrence_at=NOW - 5 * MINUTE)

    assert [one.id for one in claim(job).claimed] == [job.id]
