"""Slots: frees those of ``max_in_flight`` that jobs held; where Redis does not answer, as soon as it does again."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from delayhub.engine import EngineOptions
from tasksapp.errors import AWAY
from tasksapp.timers.lanes import brisk_lane, is_kept_out, patient_lane, tried

logger = logging.getLogger(__name__)

#: How long after a failure the kept slots are tried again.
AGAIN_SECONDS = 1.0
#: Slots that a process keeps for another try; about 10 MB.
MOST_KEPT = 100_000


class Held(NamedTuple):
    """Slots of one queue that were not freed.

    Args:
        lane: the queue's lane.
        queue: the queue.
        ids: the jobs that held the slots.
        ended_ms: when the jobs ended, Redis' time in Unix ms; a slot that was taken later is not theirs.
        kept_at: since when they are kept, in monotonic seconds.
    """

    lane: str
    queue: str
    ids: Sequence[str]
    ended_ms: int
    kept_at: float


def settle(lane: str, queue: str, ids: Sequence[UUID], *, ended_ms: int, is_late: bool = False) -> None:
    """Frees the slots of ``max_in_flight`` that the jobs held, now or as soon as Redis answers.

    Args:
        lane: the queue's lane.
        queue: the queue.
        ids: the jobs.
        ended_ms: the time now, by Redis' clock, Unix ms; for a late one, when the slots were there.
        is_late: whether others may have the jobs since: slots that were taken later than ``ended_ms`` are theirs.
    """
    names = [str(job_id) for job_id in ids]

    def free() -> bool:
        brisk_lane(lane).settle(queue, names, claimed_until_ms=ended_ms if is_late else None)
        return True

    if tried(free, action="settle") is not True and not is_kept_out():
        held_slots.keep(Held(lane, queue, names, ended_ms, time.monotonic()))


class HeldSlots:
    """The slots that this process could not free yet. A thread tries again while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._held: deque[Held] = deque()
        self._count = 0
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        """How many slots are kept."""
        return self._count

    def keep(self, held: Held) -> None:
        """Keeps the slots for another try. Beyond ``MOST_KEPT`` they stay held until they expire."""
        with self._lock:
            if self._count + len(held.ids) > MOST_KEPT:
                logger.error(
                    "%d jobs of %s keep their slots until these expire", len(held.ids), held.queue, extra=_ACTION
                )
                return
            self._held.append(held)
            self._count += len(held.ids)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="delayhub-slots", daemon=True)
                self._thread.start()

    def free(self) -> bool:
        """Frees what is kept; whether nothing is left. Waits for Redis for some seconds, and once only."""
        with self._turn:
            while self._held:
                held = self._held[0]
                try:
                    patient_lane(held.lane).settle(held.queue, held.ids, claimed_until_ms=held.ended_ms)
                except AWAY as error:
                    logger.debug("slots were not freed, trying again: %s", error, extra=_ACTION)
                    # After that time they have expired.
                    if time.monotonic() - held.kept_at < EngineOptions().slot_seconds:
                        return False
                with self._lock:
                    self._held.popleft()
                    self._count -= len(held.ids)
        return True

    def forget(self) -> None:
        """Begins from nothing: a forked child frees no slots of its parent's jobs, and has no thread of it."""
        self.__init__()  # type: ignore[misc]  # the only way to reset all of it alike

    def _run(self) -> None:
        while True:
            time.sleep(AGAIN_SECONDS)
            try:
                self.free()
            except Exception:
                # Slots that stay held stop a biz type, so no failure of one turn may end this thread.
                logger.exception("slots were not freed, trying again", extra=_ACTION)
            with self._lock:
                if self._thread is not threading.current_thread():
                    return
                if not self._held:
                    self._thread = None
                    return


_ACTION = {"action": "settle"}
#: Those of this process.
held_slots = HeldSlots()
os.register_at_fork(after_in_child=held_slots.forget)
