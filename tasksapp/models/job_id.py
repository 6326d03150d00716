"""Ids of jobs: UUIDv7 (RFC 9562), ordered by time, made without asking the database."""

from __future__ import annotations

import os
import struct
import threading
import time
from uuid import UUID

_VERSION = 0x7 << 76
_VARIANT = 0x2 << 62
_TIME_SHIFT = 80
#: Low bits that count up within a millisecond: 12 of ``rand_a`` and the upper 30 of ``rand_b``.
_COUNTER_BITS = 42
#: The other bits of an id, the lowest 32, are random.
_NOISE = struct.Struct(">I")

_lock = threading.Lock()
_last_ms = 0
_counter = 0


def new_job_id() -> UUID:
    """A new id, greater than all that this process made before."""
    return new_job_ids(1)[0]


def new_job_ids(count: int) -> list[UUID]:
    """New ids in rising order."""
    ms, first = _reserve(count)
    noise = os.urandom(4 * count)
    start = (ms << _TIME_SHIFT) | _VERSION | _VARIANT
    return [
        UUID(int=start | (counter >> 30 & 0xFFF) << 64 | (counter & 0x3FFFFFFF) << 32 | low)
        for counter, (low,) in enumerate(_NOISE.iter_unpack(noise), first)
    ]


def first_id_at(at_ms: int) -> UUID:
    """The least id that could be made then, Unix ms: all ids from before are less."""
    return UUID(int=at_ms << _TIME_SHIFT)


def made_at_ms(job_id: UUID) -> int:
    """When the id was made, by the clock of the process that made it, Unix ms."""
    return job_id.int >> _TIME_SHIFT


def _reserve(count: int) -> tuple[int, int]:
    global _last_ms, _counter  # noqa: PLW0603  # the generator's state, behind its lock
    with _lock:
        ms = time.time_ns() // 1_000_000
        if ms > _last_ms:
            # Half the counter's room is left above a random start.
            _last_ms, _counter = ms, int.from_bytes(os.urandom(6)) >> (48 - _COUNTER_BITS + 1)
        first = _counter
        _counter += count
        return _last_ms, first


def _forget() -> None:
    global _last_ms, _lock  # a forked child must not go on with its parent's counter
    # Nor with a lock that another thread of the parent held at that moment.
    _last_ms, _lock = 0, threading.Lock()


os.register_at_fork(after_in_child=_forget)
