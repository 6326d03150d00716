"""What the tasks of the test project wrote down while they ran: one line each time."""

from __future__ import annotations

from typing import Any


def lines(proj: Any, event: str = "start") -> list[list[str]]:
    """The lines of an event (``start``, ``end``, …), each as its words: the task's id, then when."""
    return [line.decode().split() for line in proj.ledger.lrange(f"ledger:{event}", 0, -1)]


def task_ids(proj: Any, event: str = "start") -> list[str]:
    """The ids of the tasks that started (or ended), one for each time."""
    return [words[0] for words in lines(proj, event)]


def times(proj: Any, event: str = "start") -> list[tuple[str, float]]:
    """A task's id and the Unix time in seconds, for each time that a task started (or ended)."""
    return [(task_id, float(at)) for task_id, at in lines(proj, event)]
