"""Limits: how many messages of a task, or of each flow key, start in a time and run at once, over all consumers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from delayhub.engine.delay_queue import DelayQueue
from delayhub.engine.entry import text
from delayhub.engine.scripts import script
from delayhub.engine.task_name import KEY_MARK
from delayhub.errors import OptionError

#: Who said so: the code of a program, or a person, whose word counts.
DECLARED = "declared"
SET = "set"
#: The same, of how many may run at once.
DECLARED_AT_ONCE = "declared_at_once"
SET_AT_ONCE = "set_at_once"

#: Flow keys that one call looks at.
LOOK = 500


class Limit(NamedTuple):
    """One limit of a task: the µs between two starts, or how many may run at once (0: none), and a text about it."""

    amount: int
    about: str = ""


class QueueLimits(NamedTuple):
    """The limits of a queue's tasks, by task, in each layer: as code declared them and as persons set them."""

    declared: dict[str, Limit]
    set: dict[str, Limit]
    declared_at_once: dict[str, Limit]
    set_at_once: dict[str, Limit]

    @property
    def tasks(self) -> frozenset[str]:
        """The tasks that have any."""
        return frozenset().union(*self)

    def of(self, task: str) -> tuple[int, int]:
        """The µs between two starts of a task, and how many may run at once; 0 for no limit."""
        rate = self.set.get(task) or self.declared.get(task)
        at_once = self.set_at_once.get(task) or self.declared_at_once.get(task)
        return rate.amount if rate else 0, at_once.amount if at_once else 0


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

    Messages that were claimed before do not count among those that run at once. The limit of each flow key of a task
    goes by the task's name with :data:`KEY_MARK` behind it.

    Raises:
        OptionError: a task's name has a quote in it.
    """
    args: list[Any] = [layer]
    for task, limit in limits.items():
        args += [limit_key(task), *(("", "") if limit is None else limit)]
    for part in queue.parts:
        keys = [part.keys.base, part.lane_keys.base]
        while limits and script("set_limits").run(part.client, keys, args):
            pass  # some messages are parked still
        for task in limits:
            if task.endswith(KEY_MARK):
                _look_at_keys(part, limit_key(task), layer)


def _look_at_keys(queue: DelayQueue, begin: str, layer: str) -> None:
    """Lets the next claim look at flow keys of a task that wait; where they have no limit, their messages are ready."""
    client, keys = queue.client, queue.keys
    is_limited = client.hexists(keys.limited, begin)
    for key in (keys.shut,) if is_limited else (keys.shut, keys.open):
        found = client.zscan_iter(key, match=_as_pattern(begin) + "*", count=LOOK)
        while names := [text(name) for name, _ in islice(found, LOOK)]:
            args = [layer, *(value for name in names for value in (name, "look" if is_limited else "", ""))]
            while script("set_limits").run(client, [keys.base, queue.lane_keys.base], args):
                pass  # some are parked still


def _as_pattern(name: str) -> str:
    return re.sub(r"([\\\[\]*?^-])", r"\\\1", name)


def read_limits(queue: DelayQueue) -> QueueLimits:
    """The limits of a queue's tasks."""
    found = QueueLimits({}, {}, {}, {})
    layers = found._asdict()
    raw: Any = queue.client.hgetall(queue.keys.limits)
    for field, value in raw.items():
        layer, _, key = text(field).partition(":")
        amount, _, about = text(value).partition(" ")
        if layer in layers:
            layers[layer][json.loads(f'"{key}"')] = Limit(int(amount), about)
    return found


def flying_counts(queue: DelayQueue) -> dict[str, int]:
    """How many messages of each task, and flow key, with a limit of that kind are with consumers at once."""
    found: Counter[str] = Counter()
    for part in queue.parts:
        raw: Any = part.client.hgetall(part.keys.at_once)
        found.update({json.loads(f'"{text(task)}"'): int(count) for task, count in raw.items()})
    return found


def parked_counts(queue: DelayQueue, *, most: int = 0, tasks: Iterable[str] = ()) -> dict[str, int]:
    """How many messages each task, and flow key of a task, has parked, of those that have any.

    Args:
        queue: the queue.
        most: look at about so many of them, for pages and tables; 0 for all.
        tasks: those that are looked at in any case.
    """
    found: Counter[str] = Counter()
    asked = [limit_key(task) for task in tasks if not task.endswith(KEY_MARK)]
    for part in queue.parts:
        tasks = list(dict.fromkeys([*part.parking_tasks(most=most), *asked]))
        with part.client.pipeline(transaction=False) as pipeline:
            for task in tasks:
                pipeline.zcard(part.keys.parked_by(task))
            counts = pipeline.execute()
        found.update({json.loads(f'"{task}"'): count for task, count in zip(tasks, counts, strict=True) if count})
    return found
