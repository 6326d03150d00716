"""Whether a waiting job has its timer, for people who look at it."""

from __future__ import annotations

from enum import Enum

from tasksapp.models import Job
from tasksapp.timers.arming import window_end
from tasksapp.timers.lanes import brisk_lane, tried


class TimerState(Enum):
    """What Redis has for a job."""

    SET = "its timer is set"
    NOT_NEEDED = "it is so far ahead that its row is enough"
    MISSING = "it has none yet; the loader sets it soon"
    UNKNOWN = "Redis did not answer"


def timer_state(job: Job) -> TimerState:
    """What Redis has for the pending job, by one question."""

    def ask() -> list[int | None]:
        return brisk_lane(job.biz_type.timer_lane).look(job.biz_type.queue, [str(job.id)], key=job.flow_key)

    found = tried(ask, action="look")
    if found is None:
        return TimerState.UNKNOWN
    if found[0] is not None:
        return TimerState.SET
    return TimerState.NOT_NEEDED if job.next_run_at > window_end() else TimerState.MISSING
