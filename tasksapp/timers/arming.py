"""Arming: sets timers in Redis, moves them and removes them.

Timers are hints that the loader can always set again, so nothing here raises but what the loader itself calls: the row
decides, the timer reminds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.utils import timezone

from delayhub.clock import due_ms
from tasksapp.conf import options
from tasksapp.models import Job, Status
from tasksapp.models.biz_type import PULL_LANE
from tasksapp.timers.lanes import brisk_lane, list_once, patient_lane, tried
from tasksapp.timers.timer import Groups, Timer, by_place, grouped

#: The creator arms jobs a little beyond the loader's window, so that no commit falls between the two.
WINDOW_MARGIN = timedelta(seconds=30)


def arm(groups: Groups) -> bool:
    """Sets the timers that fall into the near window, unless they are set; False where Redis did not answer in time."""
    end = due_ms(window_end())
    near = {place: [timer for timer in group if timer[1] <= end] for place, group in groups.items()}

    def ensure() -> bool:
        for (name, queue, step), group in by_place(near).items():
            lane = brisk_lane(name)
            lane.ensure_keys(queue, group, step=step)
            if not name.startswith(PULL_LANE):
                list_once(lane)
        return True

    return not any(near.values()) or tried(ensure, action="arm") is True


def move(timers: Sequence[Timer], *, former_key: str | None = None) -> bool:
    """Puts each timer to exactly its time, or removes it where that is beyond the window.

    Args:
        timers: the timers.
        former_key: the flow key that they had before; None: the same.

    False where Redis did not answer in time.
    """
    end = window_end()
    near = grouped(timer for timer in timers if timer.next_run_at <= end)
    far = grouped(timer for timer in timers if timer.next_run_at > end)

    def put() -> bool:
        for (lane, queue, step, key), group in near.items():
            brisk_lane(lane).put(queue, group, step=step, key=key, former_key=former_key)
        for (lane, queue, _, key), group in far.items():
            of_key = key if former_key is None else former_key
            brisk_lane(lane).cancel(queue, [job_id for job_id, _ in group], key=of_key)
        return True

    return tried(put, action="move") is True


def wake(timers: Sequence[Timer]) -> bool:
    """Puts each timer of the near window to its time, as :func:`move` does: by one call for those that are not there.

    That is what most are that are the next of their flow key. False where Redis did not answer in time.
    """
    near = by_place(grouped(timer for timer in timers if timer.next_run_at <= window_end()))

    def ensure() -> set[str]:
        left: set[str] = set()
        for (name, queue, step), group in near.items():
            outcomes = brisk_lane(name).ensure_keys(queue, group, step=step)
            ids = [job_id for of_key in group.values() for job_id, _ in of_key]
            left.update(job_id for job_id, outcome in zip(ids, outcomes, strict=True) if outcome == "left")
        return left

    left = tried(ensure, action="wake") if near else set()
    return left is not None and (not left or move([timer for timer in timers if str(timer.job_id) in left]))


def forget(timers: Iterable[Timer]) -> bool:
    """Removes timers; one that stays fires without effect. False where Redis did not answer in time."""

    def cancel() -> bool:
        for (lane, queue, _, key), group in grouped(timers).items():
            brisk_lane(lane).cancel(queue, [job_id for job_id, _ in group], key=key)
        return True

    return tried(cancel, action="forget") is True


def follow(jobs: Iterable[Job], *, former_key: str | None = None) -> None:
    """Makes timers follow their rows: moves that of a pending job to its time, and removes that of any other.

    Args:
        jobs: the jobs.
        former_key: the flow key that their timers have; None: that of each job.
    """
    moved: list[Timer] = []
    gone: list[Timer] = []
    for job in jobs:
        (moved if job.status == Status.PENDING else gone).append(Timer.of(job, job.biz_type))
    if moved:
        move(moved, former_key=former_key)
    if gone:
        forget(gone)


def window_end() -> datetime:
    """The end of the near window: a job that runs before it should have a timer."""
    return timezone.now() + timedelta(seconds=options().near_window_seconds) + WINDOW_MARGIN


def ensure_timers(timers: Iterable[Timer]) -> list[str]:
    """What became of each timer, in no order: ``left`` where it was there already. Raises RedisError."""
    return [
        outcome
        for (lane, queue, step), group in by_place(grouped(timers)).items()
        for outcome in patient_lane(lane).ensure_keys(queue, group, step=step)
    ]
