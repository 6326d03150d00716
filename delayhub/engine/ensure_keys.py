"""Ensuring timers of many flow keys of a queue by one call to Redis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import redis

from delayhub.engine.delay_queue import CHUNK, chunks
from delayhub.engine.entry import check_flow_key, check_timers, texts
from delayhub.engine.keys import LaneKeys
from delayhub.engine.scripts import script
from delayhub.errors import EntryError


def ensure_keys(
    client: redis.Redis, lane: LaneKeys, queue: str, timers: Mapping[str, Sequence[tuple[str, int]]], *, step: int
) -> list[str]:
    """What became of each timer, in the order given; see :meth:`delayhub.engine.TimerLane.ensure_keys`.

    Raises:
        EntryError: a name, an id, a due time, the step or a key cannot be stored. Nothing was sent then.
    """
    check_queue(queue)
    for key, group in timers.items():
        check_flow_key(key)
        check_timers(group, step)
    ensure, keys = script("ensure"), [lane.queue(queue).base, lane.base]
    answers: list[str] = []
    for args in requests(queue, timers, step=step):
        answers += texts(ensure.run(client, keys, args))
    return answers


def requests(queue: str, timers: Mapping[str, Sequence[tuple[str, int]]], *, step: int) -> Iterator[list[Any]]:
    """The arguments of each call of the script, with at most 1 000 timers each."""
    args: list[Any] = [queue, step, 0]
    size = 0
    for key, group in timers.items():
        for part in chunks(group):
            if size + len(part) > CHUNK:
                yield args
                args, size = [queue, step, 0], 0
            args[2] += 1
            args += (key, len(part), *chain.from_iterable(part))
            size += len(part)
    if size:
        yield args


def check_queue(name: str) -> None:
    """Raises EntryError where a queue of timers cannot have that name."""
    if not name or name.startswith("@"):
        raise EntryError(f"a timer queue needs a name that does not begin with '@', got {name!r}")
