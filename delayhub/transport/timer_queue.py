"""Queues that are timer lanes, as their queue arguments declare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Queue arguments that make a queue a timer lane: the task its timers are handed to, and how many at a time.
TASK_ARGUMENT = "x-delayhub-task"
BATCH_ARGUMENT = "x-delayhub-batch"

#: Tasks that take ``ungated``, and write the gates of those queues. Only for them is a queue shut that has no gate.
gate_writers: set[str] = set()


@dataclass(frozen=True, slots=True)
class TimerQueue:
    """A queue whose timers become messages for a task.

    Args:
        task: the name of the Celery task.
        batch: the most timers in one message.
    """

    task: str
    batch: int

    @property
    def needs_gates(self) -> bool:
        """Whether its task writes the gates of queues that have none, so that those are shut until then."""
        return self.task in gate_writers

    @classmethod
    def declared(cls, arguments: Mapping[str, Any]) -> TimerQueue | None:
        """The timer queue that these queue arguments declare; None where they declare a queue of messages."""
        if TASK_ARGUMENT not in arguments:
            return None
        return cls(arguments[TASK_ARGUMENT], int(arguments.get(BATCH_ARGUMENT, 100)))
