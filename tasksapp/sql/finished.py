"""Finished: what a running job becomes, and the attempt that was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tasksapp.models import Status, Transition


class Tried(NamedTuple):
    """One attempt, to be logged; of an encrypted job headers are texts too."""

    number: int
    started_at: datetime
    duration_ms: int
    lateness_ms: int
    status_code: int | None
    response_headers: Mapping[str, str] | str
    response_body: str
    error: str
    request_line: str
    request_headers: Mapping[str, str] | Sequence[object] | str


class Finished(NamedTuple):
    """What a running job becomes.

    Args:
        job_id: the job.
        token: the lease it was claimed with.
        transition: the change of its status, from running.
        next_run_at: when it runs again; None to leave the time as it is.
        counted: attempts to add: 1 where the receiver was tried, 0 where the fault is ours or the claim counted it.
        system_errors: errors of ours to add.
        last_error: why; '' where it went well.
        error_class: the kind of that error, see ``tasksapp.models.error_class``.
        tried: the attempt to log, if there was one.
    """

    job_id: UUID
    token: int
    transition: Transition
    next_run_at: datetime | None
    counted: int
    system_errors: int
    last_error: str
    error_class: str
    tried: Tried | None

    @property
    def status(self) -> Status:
        """The status that the job gets."""
        return self.transition.target

    @property
    def has_failed(self) -> bool:
        """Whether there was an attempt, which failed. Faults on our side are none."""
        # One by one: a set would hash the transition, which takes Python longer.
        transition = self.transition
        return (transition is Transition.RETRY or transition is Transition.GIVE_UP) and not self.system_errors
