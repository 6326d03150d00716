"""How far a command has come: a line on a terminal, nothing in a log."""

from __future__ import annotations

import io

import pytest
from django.core.management.base import OutputWrapper

from tasksapp.management.progress import WIDTH, Progress


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


def lines(out: io.StringIO) -> list[str]:
    return out.getvalue().split("\r")[1:]


def test_a_terminal_shows_the_share_and_the_number() -> None:
    out = Terminal()
    progress = Progress(OutputWrapper(out), total=4_000, what="jobs")

    progress.advance(1_000)
    progress.advance(3_000)
    progress.end()

    first, last = lines(out)
    assert first.count("█") == round(WIDTH / 4)
    assert first.endswith("25% 1,000 jobs")
    assert last.endswith("100% 4,000 jobs\n")


@pytest.mark.parametrize(("total", "done"), [(0, 0), (0, 5), (10, 30)])
def test_more_than_was_counted_is_no_more_than_all(total: int, done: int) -> None:
    out = Terminal()

    Progress(OutputWrapper(out), total=total, what="rows").advance(done)

    (line,) = lines(out)
    assert line.count("█") == WIDTH
    assert line.endswith(f"100% {done} rows")


def test_a_log_gets_nothing_and_the_count_goes_on() -> None:
    out = io.StringIO()
    progress = Progress(OutputWrapper(out), total=10, what="jobs")

    progress.advance(4)
    progress.end()

    assert (out.getvalue(), progress.done) == ("", 4)
