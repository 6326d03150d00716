"""What the columns of the list of jobs show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasksapp.admin.jobs.columns import COLUMNS, Showing, rows_of, shown_error
from tasksapp.models import UNTIL_RESUMED, BizType, Job, Status

NOW = datetime(2026, 11, 22, 22, 14, 3, tzinfo=UTC)
LATER, EARLIER = NOW + timedelta(minutes=5), NOW - timedelta(minutes=5)


def shown(column: str, *, holds: dict[str, str] | None = None, sees_bodies: bool = True, **fields: Any) -> str:
    biz_type = fields.pop("biz_type", BizType(code="order.close"))
    job = Job(**{"due_at": NOW, "next_run_at": NOW, "updated_at": NOW, **fields}, biz_type=biz_type)
    showing = Showing(now=NOW, holds=holds or {}, sees_bodies=sees_bodies, site="admin")
    [row] = rows_of([job], (column,), showing)
    return str(row.cells[0].html)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"next_run_at": LATER}, "its time has not come"),
        ({"next_run_at": LATER, "attempts": 1}, "a retry, after a failure"),
        ({"next_run_at": EARLIER}, "due; workers take it soon"),
        ({"next_run_at": EARLIER, "holds": {"order.close": "Redis does not answer"}}, "Redis does not answer"),
        ({"next_run_at": LATER, "holds": {"order.close": "Redis does not answer"}}, "its time has not come"),
        (
            {
                "next_run_at": LATER,
                "holds": {"order.close": "paused by ada"},
                "biz_type": BizType(code="order.close", paused_until=UNTIL_RESUMED),
            },
            "paused by ada",
        ),
    ],
)
def test_a_waiting_job_says_why_it_waits(fields: dict[str, Any], text: str) -> None:
    assert text in shown("waits", **fields)


def test_the_link_is_the_biz_id_or_the_id_where_there_is_none() -> None:
    assert ">order-7</a>" in shown("job", biz_id="order-7")
    assert "0000000000a7</a>" in shown("job", id="00000000-0000-0000-0000-0000000000a7")
    assert "&lt;script&gt;" in shown("job", biz_id="<script>")


def test_an_error_is_a_line_with_its_whole_text_as_title() -> None:
    assert 'title="&lt;oops&gt;"' in shown("error", last_error="<oops>", status=Status.DEAD)


def test_who_may_not_see_bodies_sees_the_kind_of_an_error_only() -> None:
    assert "s3cret" not in shown("error", last_error="status 500: s3cret", sees_bodies=False)
    assert shown_error("s3cret", sees_bodies=False) == "hidden"
    assert "503" in shown_error("s3cret", sees_bodies=False, error_class="http.503")
    assert shown_error("", sees_bodies=False) == ""


@pytest.mark.parametrize(
    ("column", "fields", "text"),
    [
        ("attempts", {"attempts": 3, "attempt_base": 1, "max_attempts": 5}, "2 of 5"),
        ("running", {"updated_at": EARLIER}, "for 5 min"),
        ("next_run", {}, "-"),
        ("next_run", {"next_run_at": LATER, "attempts": 1}, "attempt 2"),
        ("by", {"changed_by": "ada"}, "ada"),
        ("by", {"status": Status.SKIPPED}, "too late"),
        ("worker", {"worker": "w1"}, "w1"),
        ("status", {"status": Status.DEAD}, "dead"),
    ],
)
def test_other_columns(column: str, fields: dict[str, Any], text: str) -> None:
    assert text in shown(column, **fields)


def test_every_column_shows_something_of_every_job() -> None:
    assert all(shown(column) for column in COLUMNS)
