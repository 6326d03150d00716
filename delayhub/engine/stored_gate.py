"""StoredGate: a gate as Redis has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from delayhub.engine.entry import text
from delayhub.engine.gate import FIELDS, Revision
from delayhub.engine.timer_lane import TimerLane


class StoredGate(NamedTuple):
    """A gate as Redis has it.

    Args:
        fields: its values, as :attr:`Gate.fields`.
        revision: None: it has none, so claims that need gates take nothing.
        paused: flow keys that are paused, until these Unix times in ms.
    """

    fields: list[str]
    revision: Revision | None
    paused: dict[str, int]


def read_gates(lane: TimerLane, queues: Sequence[str]) -> list[StoredGate]:
    """The gates of these queues, in one round trip."""
    if not queues:
        return []
    with lane.client.pipeline(transaction=False) as pipeline:
        for queue in queues:
            keys = lane.keys.queue(queue)
            pipeline.hmget(keys.gate, [*FIELDS, "revision"])
            pipeline.hgetall(keys.paused)
        replies = pipeline.execute()
    return [_stored(*values, paused=paused) for values, paused in zip(replies[::2], replies[1::2], strict=True)]


def _stored(*values: Any, paused: Mapping[Any, Any]) -> StoredGate:
    *fields, revision = ("" if value is None else text(value) for value in values)
    row, _, number = revision.partition(".")
    return StoredGate(
        fields,
        Revision(int(row), int(number)) if revision else None,
        {text(key): int(until) for key, until in paused.items()},
    )
