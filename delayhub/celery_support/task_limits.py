"""Limits of tasks (``rate_limit``) over all workers of a queue: what code declares, and what persons set."""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from celery.utils.time import rate

from delayhub.clock import SystemClock, moment
from delayhub.engine import DelayQueue
from delayhub.engine.entry import text
from delayhub.engine.keys import limits as limits_of_broker
from delayhub.engine.limits import DECLARED, SET, Limit, QueueLimits, limit_key, parked_counts, read_limits, set_limits


class TaskLimit(NamedTuple):
    """The limit of a task on one queue, as it is in force.

    Args:
        task: the task's name.
        rate: as Celery writes it ("10/s"); None where the task has no limit.
        declared: what code says, None where it says nothing.
        set_at: since when what a person said counts, None where nobody did.
        set_by: who that was.
        parked: how many due tasks it holds back.
    """

    task: str
    rate: str | None
    declared: str | None
    set_at: datetime | None
    set_by: str
    parked: int


def limit_of(rate_limit: Any) -> Limit | None:
    """A limit as Celery writes it ("10/s", "100/m", 5); None where there is none. 0 is none, too.

    Raises:
        ValueError: it is no rate.
    """
    try:
        a_second = float(rate(rate_limit)) if rate_limit is not None else 0.0
    except (KeyError, TypeError) as error:
        raise ValueError(f"a rate limit is like 10/s, 100/m or 5/h, got {rate_limit!r}") from error
    if a_second < 0:
        raise ValueError(f"a rate limit must not be negative, got {rate_limit!r}")
    return Limit(max(1, round(1_000_000 / a_second)), str(rate_limit)) if a_second else None


def declare(queue: DelayQueue, declared: Mapping[str, Any]) -> None:
    """Brings what code says to a queue, and what persons said to all queues.

    Args:
        queue: the queue.
        declared: of each task of the program its ``rate_limit``, or None.
    """
    known = read_limits(queue)
    wanted = {task: limit_of(rate_limit) for task, rate_limit in declared.items()}
    changed = {task: limit for task, limit in wanted.items() if known.declared.get(task) != limit and is_name(task)}
    if changed:
        set_limits(queue, DECLARED, changed)
    found: Any = queue.client.hgetall(limits_of_broker(queue.options.key_prefix))
    said = {text(task): _set_limit(text(about)) for task, about in found.items()}
    changed = {task: said.get(task) for task in said | known.set if known.set.get(task) != said.get(task)}
    if changed:
        set_limits(queue, SET, changed)


def is_name(task: str) -> bool:
    """Whether a task of this name can have a limit."""
    return '"' not in task and "\\" not in task


def set_for_all(queues: Iterable[DelayQueue], task: str, rate_limit: Any, *, by: str = "") -> int:
    """How many queues the limit was set on. It wins over what code declares, also after restarts, until it is None.

    Args:
        queues: all queues of the broker.
        task: the task's name.
        rate_limit: as Celery writes it; 0 for no limit, None to let the declared one count again.
        by: who says so; the user of this process by default.

    Raises:
        ValueError: it is no rate.
        OptionError: the task's name has a quote in it.
    """
    limit_key(task)
    about = None
    if rate_limit is not None:
        found = limit_of(rate_limit)
        said = {"interval_us": found.interval_us if found else 0, "rate": str(rate_limit)}
        now = moment(SystemClock().now_ms())
        about = json.dumps({**said, "at": now.isoformat(timespec="seconds"), "by": by or this_user()})
    count = 0
    for queue in queues:
        key = limits_of_broker(queue.options.key_prefix)
        if about is None:
            queue.client.hdel(key, task)
        else:
            queue.client.hset(key, task, about)
        set_limits(queue, SET, {task: _set_limit(about) if about else None})
        count += 1
    return count


def task_limits(queue: DelayQueue) -> list[TaskLimit]:
    """The limits of a queue's tasks, by name; three round trips."""
    return _merged(read_limits(queue), parked_counts(queue))


def _merged(known: QueueLimits, parked: Mapping[str, int]) -> list[TaskLimit]:
    found = []
    for task in sorted({*known.declared, *known.set, *parked}):
        declared, said = known.declared.get(task), known.set.get(task)
        about = json.loads(said.about) if said else {}
        counts = said or declared
        found.append(
            TaskLimit(
                task=task,
                rate=(about.get("rate") if said else declared and declared.about)
                if counts and counts.interval_us
                else None,
                declared=declared.about if declared else None,
                set_at=datetime.fromisoformat(about["at"]) if about else None,
                set_by=about.get("by", ""),
                parked=parked.get(task, 0),
            )
        )
    return found


def this_user() -> str:
    """Who runs this process, and where."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


def _set_limit(about: str) -> Limit:
    return Limit(int(json.loads(about)["interval_us"]), about)
