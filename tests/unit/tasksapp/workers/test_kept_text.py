"""What a task leaves with its attempt."""

from __future__ import annotations

from tasksapp.workers.kept_text import ATTRIBUTE, Kept, kept_text


def test_a_result_or_an_exception_may_bring_a_text() -> None:
    told, silent = ValueError(), ValueError()
    setattr(told, ATTRIBUTE, "what happened")

    assert kept_text(Kept("42"), None) == "42"
    assert kept_text(42, None) == ""
    assert kept_text(None, told) == "what happened"
    assert kept_text(None, silent) == ""
