"""Queues that are timer lanes, as their queue arguments declare them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from delayhub.transport.envelope import Message

#: Queue arguments that make a queue a timer lane: the task its timers are handed to, and how many at a time.
TASK_ARGUMENT = "x-delayhub-task"
BATCH_ARGUMENT = "x-delayhub-batch"

#: Tasks that take ``ungated``, and write the gates of those queues. Only for them is a queue shut that has no gate.
gate_writers: set[str] = set()

#: Names of timer lanes that this process publishes beside without having declared them.
known_lanes: set[str] = set()


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


def timer_message(
    task: str, ids: Sequence[str], *, lane: str, now_ms: int, struck: bool = False, ungated: Sequence[str] = ()
) -> Message:
    """A Celery task message (protocol 2) that hands a batch of due timers to a task, under a fresh task id.

    Args:
        task: the task's name.
        ids: the timers' ids.
        lane: the name of their lane.
        now_ms: Redis' time, in Unix ms, at which they were due.
        struck: whether leases of them ran out before.
        ungated: queues of the lane that are shut until the task has written their gates.
    """
    task_id = str(uuid4())
    arguments: dict[str, Any] = {"lane": lane, "now_ms": now_ms, "struck": struck}
    if ungated:
        arguments["ungated"] = list(ungated)
    body = [[list(ids)], arguments, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
    return {
        "body": json.dumps(body),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {
            "lang": "py",
            "task": task,
            "id": task_id,
            "root_id": task_id,
            "parent_id": None,
            "group": None,
            "eta": None,
            "expires": None,
            "retries": 0,
            "timelimit": [None, None],
            "argsrepr": f"([{len(ids)} ids],)",
            "kwargsrepr": repr(arguments),
            "origin": f"delayhub@{lane}",
            "ignore_result": True,
        },
        "properties": {
            "correlation_id": task_id,
            "reply_to": "",
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": lane},
            "priority": 0,
            "body_encoding": "utf-8",
        },
    }
