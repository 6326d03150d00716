"""Limits: how many messages of a task a queue lets start in a time, over all its consumers together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from delayhub.engine.delay_queue import DelayQueue
from delayhub.engine.entry import text
from delayhub.engine.scripts import script
from delayhub.errors import OptionError

#: Who said so: the code of a program, or a person, whose word counts.
DECLARED = "declared"
SET = "set"


class Limit(NamedTuple):
    """One limit of a task: the µs between two starts (0: it may start at any time), and a text about it."""

    interval_us: int
    about: str = ""


class QueueLimits(NamedTuple):
    """The limits of a queue's tasks, by task, as code declared them and as persons set them."""

    declared: dict[str, Limit]
    set: dict[str, Limit]


def limit_key(task: str) -> str:
    """A task's name as the keys have it: as JSON writes it.

    Raises:
        OptionError: the name has a quote in it.
    """
    key = json.dumps(task)[1:-1]
    if not key or '"' in key:
        raise OptionError(f"a task with this name can have no limit: {task!r}")
    return key


def set_limits(queue: DelayQueue, layer: str, limits: Mapping[str, Limit | None]) -> None:
    """Sets limits of tasks in one layer, or removes them from it (None); from the next claim on.

    Raises:
        OptionError: a task's name has a quote in it.
    """
    args: list[Any] = [layer]
    for task, limit in limits.items():
        args += [limit_key(task), "" if limit is None else limit.interval_us, "" if limit is None else limit.about]
    keys = [queue.keys.base, queue.lane_keys.base]
    while limits and script("set_limits").run(queue.client, keys, args):
        pass  # some messages are parked still


def read_limits(queue: DelayQueue) -> QueueLimits:
    """The limits of a queue's tasks."""
    found = QueueLimits({}, {})
    raw: Any = queue.client.hgetall(queue.keys.limits)
    for field, value in raw.items():
        layer, _, key = text(field).partition(":")
        interval, _, about = text(value).partition(" ")
        (found.set if layer == SET else found.declared)[json.loads(f'"{key}"')] = Limit(int(interval), about)
    return found


def parked_counts(queue: DelayQueue) -> dict[str, int]:
    """How many messages each task has parked, of those that have any."""
    tasks = queue.parking_tasks()
    with queue.client.pipeline(transaction=False) as pipeline:
        for task in tasks:
            pipeline.zcard(queue.keys.parked_by(task))
        counts = pipeline.execute()
    return {json.loads(f'"{task}"'): count for task, count in zip(tasks, counts, strict=True)}
