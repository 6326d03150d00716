"""Arming: puts timers into Redis, moves them and takes them away.

Timers are hints that the loader can always make again, so nothing here raises: a row decides, a timer only reminds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from delayhub.clock import due_ms
from tasksapp.conf import options
from tasksapp.models import Job, Status
from tasksapp.timers.lanes import brisk_lane, tried
from tasksapp.timers.timer import Groups, Timer, grouped

#: The creator arms jobs a little beyond the loader's window, so that no commit falls between the two.
WINDOW_MARGIN = timedelta(seconds=30)


def arm(groups: Groups) -> bool:
    """Ensures those timers that fall into the near window; False where Redis did not answer in time."""
    end = due_ms(window_end())
    near = {place: [timer for timer in group if timer[1] <= end] for place, group in groups.items()}

    def ensure() -> bool:
        for (lane, queue, step), group in near.items():
            brisk_lane(lane).ensure(queue, group, step=step)
        return True

    return not any(near.values()) or tried(ensure, action="arm") is True


def move(timers: Sequence[Timer]) -> bool:
    """Puts each timer to exactly its time, or takes it away where that is beyond the window.

    False where Redis did not answer in time.
    """
    end = window_end()
    near = grouped(timer for timer in timers if timer.next_run_at <= end)
    far = grouped(timer for timer in timers if timer.next_run_at > end)

    def put() -> bool:
        for (lane, queue, step), group in near.items():
            brisk_lane(lane).put(queue, group, step=step)
        for (lane, queue, _), group in far.items():
            brisk_lane(lane).cancel(queue, [job_id for job_id, _ in group])
        return True

    return tried(put, action="move") is True


def forget(timers: Iterable[Timer]) -> bool:
    """Takes timers away; one that stays fires for nothing. False where Redis did not answer in time."""

    def cancel() -> bool:
        for (lane, queue, _), group in grouped(timers).items():
            brisk_lane(lane).cancel(queue, [job_id for job_id, _ in group])
        return True

    return tried(cancel, action="forget") is True


def follow(jobs: Iterable[Job]) -> None:
    """Puts timers to where their rows are now: a pending job's to its time, any other's away."""
    moved: list[Timer] = []
    gone: list[Timer] = []
    for job in jobs:
        (moved if job.status == Status.PENDING else gone).append(Timer.of(job, job.biz_type))
    if moved:
        move(moved)
    if gone:
        forget(gone)


def settle(lane: str, queue: str, ids: Sequence[UUID]) -> None:
    """Frees the slots of ``max_in_flight`` that the jobs held; one that stays ends by itself."""
    tried(lambda: brisk_lane(lane).settle(queue, [str(job_id) for job_id in ids]), action="settle")


def window_end() -> datetime:
    """A job that runs until then should have a timer already."""
    return timezone.now() + timedelta(seconds=options().near_window_seconds) + WINDOW_MARGIN
