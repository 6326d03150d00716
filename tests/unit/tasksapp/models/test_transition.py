"""The table of transitions: the page shows it, and no status is a trap."""

from __future__ import annotations

from tasksapp.models import FINISHED, LIVE, Status, Transition
from tests.repository import ROOT

PAGE = ROOT / "docs/explanation/state_machine.md"


def table() -> str:
    """The table as it is."""
    rows = [f"| {c.source.value} | {c.verb} | {c.target.value} | {c.why} |" for c in Transition]
    return "\n".join(["| from | verb | to | when |", "|---|---|---|---|", *rows])


def test_the_page_shows_the_table_that_the_code_follows() -> None:
    page = PAGE.read_text()

    assert "(../images/statuses.svg)" in page  # which a test compares with the table, too
    assert table() in page, f"docs/explanation/state_machine.md should show:\n{table()}"


def test_every_status_can_be_reached_and_none_is_a_trap() -> None:
    reached, leads_to_end = {Status.PENDING}, set(FINISHED)
    for _ in Status:
        reached |= {change.target for change in Transition if change.source in reached}
        leads_to_end |= {change.source for change in Transition if change.target in leads_to_end}

    assert reached == set(Status)
    assert leads_to_end == set(Status)


def test_a_job_is_live_or_finished() -> None:
    assert set(LIVE) | set(FINISHED) == set(Status)
    assert not set(LIVE) & set(FINISHED)


def test_what_has_succeeded_stays_so() -> None:
    ends = set(Status) - {change.source for change in Transition}

    assert ends == {Status.SUCCEEDED, Status.CANCELLED, Status.SKIPPED, Status.DROPPED}
