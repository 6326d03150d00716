"""What a task leaves with its attempt."""

from __future__ import annotations

from tasksapp.workers.kept_text import AFTER, ATTRIBUTE, Kept, after_end, kept_text


def test_a_result_or_an_exception_may_bring_a_text() -> None:
    told, silent = ValueError(), ValueError()
    setattr(told, ATTRIBUTE, "what happened")

    assert kept_text(Kept("42"), None) == "42"
    assert kept_text(42, None) == ""
    assert kept_text(None, told) == "what happened"
    assert kept_text(None, silent) == ""


def test_what_is_done_after_the_end_comes_with_the_result_or_the_exception() -> None:
    calls: list[object] = []
    error = ValueError()
    setattr(error, AFTER, calls.append)

    for after in (after_end(Kept("", after=calls.append), None), after_end(None, error)):
        assert after is not None
        after(None)

    assert calls == [None, None]
    assert after_end(42, None) is None
    assert after_end(None, ValueError()) is None
