"""Lines about jobs."""

from __future__ import annotations

import logging
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest

from tasksapp.jobs import job_log
from tasksapp.jobs.job_log import MOST, MOST_OF_KIND
from tasksapp.models import BizType

TRACE = "a" * 32


class Row(NamedTuple):
    """A job as a line sees it."""

    id: UUID
    biz_id: str = "order-42"
    traceparent: str = f"00-{TRACE}-{'b' * 16}-01"


@pytest.fixture
def biz_type() -> BizType:
    return BizType(pk=1, code="order.close")


@pytest.fixture(autouse=True)
def _whole_budget() -> None:
    job_log._budget._begin()


def test_a_line_names_the_job_in_the_sentence_and_beside_it(
    biz_type: BizType, caplog: pytest.LogCaptureFixture
) -> None:
    job = Row(uuid4())

    job_log.note(
        job_log.Event.FAILED, job, biz_type, "failed: no answer", level=logging.WARNING, attempt=2, kind="timeout"
    )

    [record] = caplog.records
    said = f"job {job.id} of order.close, biz id order-42, attempt 2 failed: no answer, trace {TRACE}"
    assert (record.name, record.levelname, record.getMessage()) == ("delayhub.jobs", "WARNING", said)
    beside = {name: getattr(record, name) for name in ("job_id", "biz_type", "biz_id", "attempt", "job_event")}
    assert beside == {
        "job_id": str(job.id), "biz_type": "order.close", "biz_id": "order-42", "attempt": 2, "job_event": "failed",
    }  # fmt: skip
    assert (getattr(record, "trace_id", ""), getattr(record, "error_class", "")) == (TRACE, "timeout")


def test_what_strangers_write_begins_no_line_of_its_own(biz_type: BizType, caplog: pytest.LogCaptureFixture) -> None:
    job = Row(uuid4(), biz_id="a\nERROR b", traceparent="")

    job_log.note_death(job, biz_type, "no\r\nERROR all is lost\x1b[31m", attempt=1, kind="http.500")

    assert len(caplog.records[0].getMessage().splitlines()) == 1
    assert "\\r\\nERROR all is lost\\x1b[31m" in caplog.text
    assert "\n" not in vars(caplog.records[0])["biz_id"]


def test_of_a_thousand_failures_ten_have_lines_and_the_rest_is_added_up(
    biz_type: BizType, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="delayhub.jobs")
    for number in range(1_000):
        kind = "timeout" if number % 4 == 0 else "http.503"
        job_log.note("failed", Row(uuid4()), biz_type, "failed", level=logging.WARNING, attempt=1, kind=kind)

    job_log.add_up_now()

    assert len(caplog.records) == MOST_OF_KIND + 1
    assert (caplog.records[-1].levelname, caplog.records[-1].getMessage()) == (
        "WARNING",
        "990 more jobs of order.close within 10 s: failed (http.503 743, timeout 247); lines of their own are left out",
    )


def test_however_many_biz_types_fail_the_sums_are_few(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="delayhub.jobs")
    biz_types = [BizType(pk=number, code=f"order.{number}") for number in range(300)]
    for biz_type in biz_types:
        for _ in range(MOST_OF_KIND + 1):
            job_log.note("failed", Row(uuid4()), biz_type, "failed", level=logging.WARNING, attempt=1)
    own = len(caplog.records)

    job_log.add_up_now()

    sums = [vars(record)["count"] for record in caplog.records[own:]]
    assert (own, len(sums)) == (MOST, job_log.MOST_SUMS + 1)
    assert own + sum(sums) == 300 * (MOST_OF_KIND + 1)


def test_of_a_thousand_deaths_each_has_its_line(biz_type: BizType, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="delayhub.jobs")

    for _ in range(1_000):
        job_log.note_death(Row(uuid4()), biz_type, "gone", attempt=1, kind="http.410")

    assert [record.levelname for record in caplog.records] == ["ERROR"] * 1_000


def test_with_debugging_on_nothing_is_left_out(biz_type: BizType, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="delayhub.jobs")

    for _ in range(1_000):
        job_log.note("failed", Row(uuid4()), biz_type, "failed", level=logging.WARNING, attempt=1)

    assert len(caplog.records) == 1_000


def test_success_costs_no_line_without_debugging(biz_type: BizType, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="delayhub.jobs")

    job_log.note(job_log.Event.SUCCEEDED, Row(uuid4()), biz_type, "succeeded")

    assert (job_log.debugs(), caplog.records) == (False, [])
