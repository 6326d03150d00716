"""The order of biz types on the overview, and what a row says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tasksapp.admin.overview.biz_type_rows import BizTypeRow, Urgency, biz_type_rows, standings
from tasksapp.biz_types.breaker import Breaker
from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.stats.counts import BizTypeCounts, Counts
from tasksapp.stats.pulses import PulseSummary

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
AGO = NOW - timedelta(seconds=41)


def rows_of(*biz_types: BizType, counts: Counts, summaries: dict[int, PulseSummary] | None = None) -> list[BizTypeRow]:
    found = standings(biz_types, counts=counts, breakers={}, now=NOW)
    return biz_type_rows(found, counts=counts, summaries=summaries or {}, breakers={}, site="admin", now=NOW)


def test_biz_types_that_need_a_person_come_first() -> None:
    biz_types = [
        BizType(pk=1, code="a.idle"),
        BizType(pk=2, code="b.alive"),
        BizType(pk=3, code="c.dead"),
        BizType(pk=4, code="d.held", paused_until=UNTIL_RESUMED),
        BizType(pk=5, code="e.late"),
        BizType(pk=6, code="f.down"),
        BizType(pk=7, code="g.held-and-empty", enabled=False),
    ]
    counts = Counts(
        NOW,
        {
            2: BizTypeCounts(pending=1),
            3: BizTypeCounts(dead=1),
            4: BizTypeCounts(pending=9, due_now=9, oldest_due_at=AGO),
            5: BizTypeCounts(pending=9, due_now=9, oldest_due_at=AGO),
        },
    )
    breakers = {"f.down": Breaker(open_until_ms=1)}

    found = standings(biz_types, counts=counts, breakers=breakers, now=NOW)

    assert [each.urgency for each in found] == [*Urgency, Urgency.IDLE]
    assert [each.code[0] for each in found] == ["f", "e", "d", "c", "b", "a", "g"]
    assert [each.is_late for each in found] == [False, True, True, False, False, False, False]


def test_a_row_says_who_gets_the_jobs_how_late_and_what_is_next() -> None:
    called = BizType(pk=1, code="a", url="https://user:secret@shop.example:8443/hook")
    run = BizType(pk=2, code="b", target=BizType.Target.CELERY, task_name="reports.make")
    counts = Counts(NOW, {1: BizTypeCounts(pending=1, next_due_at=NOW + timedelta(seconds=12))})
    summaries = {1: PulseSummary(lateness_p99_ms=41_000)}

    first, second = rows_of(called, run, counts=counts, summaries=summaries)

    assert (first.receiver, second.receiver) == ("shop.example:8443", "reports.make")
    assert (first.lateness, second.lateness) == ("41 s", "-")
    assert (first.next_due, second.next_due) == ("in 12 s", "-")
    assert (first.pending_url, first.dead_url) == ("/admin/tasksapp/job/?tab=pending&biz_type=a", "")


def test_a_count_that_is_older_than_the_next_job_says_now() -> None:
    counts = Counts(NOW, {1: BizTypeCounts(pending=1, next_due_at=AGO)})

    (row,) = rows_of(BizType(pk=1, code="a"), counts=counts)

    assert row.next_due == "now"
