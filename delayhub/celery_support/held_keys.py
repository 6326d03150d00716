"""The flow keys of a queue whose limits hold tasks back, for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from delayhub.celery_support.task_limits import LOOKED_AT
from delayhub.clock import moment
from delayhub.engine import DelayQueue
from delayhub.engine.limits import flying_counts, limit_key, parked_counts
from delayhub.engine.task_name import KEY_MARK


class HeldKey(NamedTuple):
    """A flow key of a task, some of whose due tasks wait.

    Args:
        task: the task's name.
        flow_key: the key.
        parked: how many due tasks it holds back.
        running: how many are with workers, where so many may run at once.
        starts_at: when its rate lets the next one start; None where that waits for something else: a worker, or the
            end of another one.
    """

    task: str
    flow_key: str
    parked: int
    running: int
    starts_at: datetime | None


def held_keys(queue: DelayQueue, *, limit: int) -> list[HeldKey]:
    """The flow keys with most tasks held back, of about 2 000 that are looked at; five round trips to each slot."""
    running = flying_counts(queue)
    parked = {name: count for name, count in parked_counts(queue, most=LOOKED_AT).items() if KEY_MARK in name}
    names = sorted(parked, key=lambda name: (-parked[name], name))[:limit]
    starts = _starts(queue, names)
    found = []
    for name in names:
        task, _, key = name.partition(KEY_MARK)
        found.append(HeldKey(task, key, parked[name], running.get(name, 0), starts[name]))
    return found


def _starts(queue: DelayQueue, names: Sequence[str]) -> dict[str, datetime | None]:
    found: dict[str, datetime | None] = dict.fromkeys(names)
    for part in queue.parts:
        scores = part.client.zmscore(part.keys.shut, [limit_key(name) for name in names]) if names else []
        for name, at in zip(names, scores, strict=True):
            if at and math.isfinite(at):
                found[name] = moment(int(at))
    return found
