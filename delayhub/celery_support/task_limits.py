"""Limits of tasks, and of their flow keys, over all workers of a queue: declared by code, set by persons."""

from __future__ import annotations

import getpass
import json
import math
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from celery.utils.time import rate

from delayhub.clock import SystemClock, moment
from delayhub.engine import DelayQueue
from delayhub.engine.entry import text
from delayhub.engine.keys import limits as limits_of_broker
from delayhub.engine.limits import (
    DECLARED,
    DECLARED_AT_ONCE,
    SET,
    SET_AT_ONCE,
    Limit,
    QueueLimits,
    flying_counts,
    limit_key,
    parked_counts,
    read_limits,
    set_limits,
)
from delayhub.engine.task_name import KEY_MARK
from delayhub.errors import OptionError

#: Flow keys with parked messages that a list of limits counts, of those that may start and of those that may not.
LOOKED_AT = 1000

#: The longest time between two starts that a rate limit may ask for: a year.
MAX_INTERVAL_SECONDS = 366 * 24 * 3600
#: Keeps what a person said of a task ('' for nothing). After its first write Redis lets it go on though memory is full.
SAY = "redis.call('HDEL', KEYS[1], ARGV[1]) if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end"
#: How many may run at once, at most: scripts count them in doubles.
MOST_AT_ONCE = 10**9


class TaskLimit(NamedTuple):
    """The limit of a task, or of each of its flow keys, on one queue, as it is in force.

    Args:
        task: the task's name.
        rate: as Celery writes it ("10/s"); None where the task has no limit.
        declared: what code says, None where it says nothing.
        set_at: when a person last set the limit; None where only code did.
        set_by: that person.
        parked: how many due tasks it holds back.
        at_once: how many may run at once; None where any number may.
        running: of those, how many are with workers.
        at_once_declared: what code says of that, None where it says nothing.
        at_once_set_at: when a person last set that; None where only code did.
        at_once_set_by: that person.
        each_key: it is the limit of each flow key of the task.
        keys: of how many flow keys tasks are held back; about 2 000 are looked at.
    """

    task: str
    rate: str | None
    declared: str | None
    set_at: datetime | None
    set_by: str
    parked: int
    at_once: int | None = None
    running: int = 0
    at_once_declared: int | None = None
    at_once_set_at: datetime | None = None
    at_once_set_by: str = ""
    each_key: bool = False
    keys: int = 0


def limit_of(rate_limit: Any) -> Limit | None:
    """A limit as Celery writes it ("10/s", "100/m", 5); None where there is none. 0 is none, too.

    Raises:
        ValueError: it is no rate.
    """
    try:
        a_second = float(rate(rate_limit)) if rate_limit is not None else 0.0
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"a rate limit is like 10/s, 100/m or 5/h, got {rate_limit!r}") from error
    if isinstance(rate_limit, bool) or not math.isfinite(a_second):
        raise ValueError(f"a rate limit is like 10/s, 100/m or 5/h, got {rate_limit!r}")
    if a_second < 0:
        raise ValueError(f"a rate limit must not be negative, got {rate_limit!r}")
    if 0 < a_second * MAX_INTERVAL_SECONDS < 1:
        raise ValueError(f"a rate limit is once a year or more often, got {rate_limit!r}")
    return Limit(max(1, round(1_000_000 / a_second)), str(rate_limit)) if a_second else None


def at_once_of(task: Any, option: str = "max_in_flight") -> Limit | None:
    """How many of a task, or of each flow key, may run at once, as that option says; None where it does not.

    Raises:
        OptionError: it is no number from 1 to a thousand million.
    """
    most = getattr(task, option, None)
    if most is None:
        return None
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST_AT_ONCE:
        raise OptionError(f"{option} of {task.name} must be a number from 1 to {MOST_AT_ONCE}, got {most!r}")
    return Limit(most)


def faulty_limits(task: Any, *, rates: bool = True) -> Iterator[str]:
    """A sentence for each option of a task that cannot be a limit: with one, no worker starts.

    Args:
        task: the task.
        rates: whether its rates count.
    """
    for option in ("rate_limit", "key_rate_limit") if rates else ():
        try:
            limit_of(getattr(task, option, None))
        except ValueError as error:
            yield f"{option} of {task.name}: {error}"
    for option in ("max_in_flight", "key_max_in_flight"):
        try:
            at_once_of(task, option)
        except OptionError as error:
            yield str(error)


def declare(
    queue: DelayQueue, declared: Mapping[str, Any], declared_at_once: Mapping[str, Limit | None] | None = None
) -> None:
    """Brings what code says to a queue, and what persons said to all queues.

    Args:
        queue: the queue.
        declared: of each task of the program its ``rate_limit``, or None.
        declared_at_once: of each task how many may run at once, or None.
    """
    known = read_limits(queue)
    rates = {task: limit_of(rate_limit) for task, rate_limit in declared.items()}
    for layer, limits in ((DECLARED, rates), (DECLARED_AT_ONCE, declared_at_once or {})):
        before = getattr(known, layer)
        if changed := {task: new for task, new in limits.items() if before.get(task) != new and is_name(task)}:
            set_limits(queue, layer, changed)
    for kind in (RATE, AT_ONCE):
        before = getattr(known, kind.layer)
        found: Any = queue.client.hgetall(limits_of_broker(queue.options.key_prefix, kind.suffix))
        said = {text(task): kind.read(text(about)) for task, about in found.items()}
        if changed := {task: said.get(task) for task in said | before if before.get(task) != said.get(task)}:
            set_limits(queue, kind.layer, changed)


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
    said = None
    if rate_limit == "":  # a variable of the shell that is not set, maybe: it must not lift a limit
        raise ValueError("a rate limit is like 10/s, 100/m or 5/h, and 0 is none, got ''")
    if rate_limit is not None:
        found = limit_of(rate_limit)
        said = {"interval_us": found.amount if found else 0, "rate": str(rate_limit)}
    return _say_to_all(queues, task, RATE, said, by=by)


def set_at_once_for_all(queues: Iterable[DelayQueue], task: str, most: int | None, *, by: str = "") -> int:
    """How many queues it was set on how many of a task may run at once; it wins over what code declares.

    Args:
        queues: all queues of the broker.
        task: the task's name.
        most: 0 for any number, None to let the declared one count again.
        by: who says so; the user of this process by default.

    Raises:
        ValueError: it is no whole number, or a negative one.
        OptionError: the task's name has a quote in it.
    """
    limit_key(task)
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or not 0 <= most <= MOST_AT_ONCE):
        raise ValueError(f"how many may run at once is a number from 0 to {MOST_AT_ONCE}, got {most!r}")
    return _say_to_all(queues, task, AT_ONCE, None if most is None else {"most": most}, by=by)


def _say_to_all(
    queues: Iterable[DelayQueue], task: str, kind: LimitKind, said: Mapping[str, Any] | None, *, by: str
) -> int:
    about = None
    if said is not None:
        now = moment(SystemClock().now_ms())
        about = json.dumps({**said, "at": now.isoformat(timespec="seconds"), "by": by or this_user()})
    count = 0
    for queue in queues:
        queue.client.eval(SAY, 1, limits_of_broker(queue.options.key_prefix, kind.suffix), task, about or "")
        set_limits(queue, kind.layer, {task: None if about is None else kind.read(about)})
        count += 1
    return count


def task_limits(queue: DelayQueue) -> list[TaskLimit]:
    """The limits of a queue's tasks, by name, and of their flow keys; five round trips."""
    known = read_limits(queue)
    parked = parked_counts(queue, most=LOOKED_AT, tasks=known.tasks)
    keys = Counter(_row_of(name) for name in parked)
    return _merged(known, _summed(parked), _summed(flying_counts(queue)), keys)


def _row_of(name: str) -> str:
    """Whose limit holds back, or counts, what goes by that name: a task's, or that of each flow key of a task."""
    task, mark, _ = name.partition(KEY_MARK)
    return task + mark


def _summed(counts: Mapping[str, int]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, count in counts.items():
        found[_row_of(name)] += count
    return found


def _merged(
    known: QueueLimits, parked: Mapping[str, int], flying: Mapping[str, int], keys: Mapping[str, int]
) -> list[TaskLimit]:
    found = []
    for task in sorted(known.tasks | parked.keys()):
        code, person = known.declared_at_once.get(task), known.set_at_once.get(task)
        at_once, of_person = person or code, json.loads(person.about) if person else {}
        declared, said = known.declared.get(task), known.set.get(task)
        about = json.loads(said.about) if said else {}
        counts = said or declared
        found.append(
            TaskLimit(
                task=task.removesuffix(KEY_MARK),
                rate=(about.get("rate") if said else declared and declared.about) if counts and counts.amount else None,
                declared=declared.about if declared else None,
                set_at=datetime.fromisoformat(about["at"]) if about else None,
                set_by=about.get("by", ""),
                parked=parked.get(task, 0),
                at_once=at_once.amount or None if at_once else None,
                running=flying.get(task, 0),
                at_once_declared=code.amount if code else None,
                at_once_set_at=datetime.fromisoformat(of_person["at"]) if of_person else None,
                at_once_set_by=of_person.get("by", ""),
                each_key=task.endswith(KEY_MARK),
                keys=keys[task] if task.endswith(KEY_MARK) else 0,
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


class LimitKind(NamedTuple):
    """One kind of limit that persons set.

    Args:
        layer: where a queue keeps it.
        suffix: that of the key which keeps it for all queues of the broker.
        amount: what the text that is kept calls the limit.
    """

    layer: str
    suffix: str
    amount: str

    def read(self, about: str) -> Limit:
        """The limit of the text that is kept."""
        return Limit(int(json.loads(about)[self.amount]), about)


RATE = LimitKind(SET, "", "interval_us")
AT_ONCE = LimitKind(SET_AT_ONCE, ":at_once", "most")
