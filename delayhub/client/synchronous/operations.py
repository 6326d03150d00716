"""The verbs of operations."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from delayhub.client.errors import WaitTimeout
from delayhub.client.models.operations import JobFilter, Operation, OperationState, OperationVerb
from delayhub.client.request import Request, given, parameters, plain, read
from delayhub.client.synchronous.connection import Connection

#: How often an operation is looked at that is waited for.
LOOK_SECONDS = 1.0


class Operations:
    """Operations: one verb for all jobs that match a filter. They are planned, looked at, then started.

    Every verb raises :class:`delayhub.client.ApiError`.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def plan(
        self, verb: OperationVerb, *, jobs: JobFilter, due_at: datetime | str | None = None, reason: str = ""
    ) -> Operation:
        """Has the jobs counted for which the verb is meant; nothing changes before the start.

        A worker counts them: :meth:`wait_until_planned` gives the operation when it has.

        Args:
            verb: what is to be done to them.
            jobs: which jobs.
            due_at: the new time; for ``reschedule`` and no other verb.
            reason: why, for the audit.
        """
        body = {"verb": verb, "filter": plain(jobs), **given(due_at=due_at, reason=reason or None)}
        return self._connection.one(Operation, Request("POST", "/operations", body=body))

    def start(
        self,
        operation: int,
        *,
        rate_per_second: float | None = None,
        spread: timedelta | float | None = None,
        trial_jobs: int | None = None,
        trial_percent: int | None = None,
        reason: str | None = None,
        typed_count: int | None = None,
    ) -> Operation:
        """Starts an operation that is planned.

        Args:
            operation: its number.
            rate_per_second: its pace in jobs a second; or:
            spread: over how long; a timedelta or seconds. With neither: as fast as possible.
            trial_jobs: so many go first.
            trial_percent: the others go if so many of a hundred of the first succeed.
            reason: why, for the audit.
            typed_count: the number of jobs that it will change (``planned``), to cancel or drop more than 1 000.
        """
        body = given(
            rate_per_second=rate_per_second,
            spread_seconds=spread,
            trial_jobs=trial_jobs,
            trial_percent=trial_percent,
            reason=reason,
            typed_count=typed_count,
        )
        return self._connection.one(Operation, Request("POST", f"/operations/{operation}/start", body=body))

    def read(self, operation: int) -> Operation:
        """The operation with that number, and how far it has come."""
        return self._connection.one(Operation, read(f"/operations/{operation}"))

    def wait_until_planned(self, operation: int, *, timeout_seconds: float | None = None) -> Operation:
        """The operation, once its jobs have been counted. Also raises WaitTimeout."""
        for found in self.progress(operation, timeout_seconds=timeout_seconds):
            if found.state != "planning":
                return found
        raise AssertionError("the last one that is shown has ended")

    def wait(self, operation: int, *, timeout_seconds: float | None = None) -> Operation:
        """The operation, once it has ended. Also raises WaitTimeout."""
        for found in self.progress(operation, timeout_seconds=timeout_seconds):
            if found.has_ended:
                return found
        raise AssertionError("the last one that is shown has ended")

    def progress(self, operation: int, *, timeout_seconds: float | None = None) -> Iterator[Operation]:
        """The operation, once a second until it has ended; the last one has. Also raises WaitTimeout."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            found = self.read(operation)
            yield found
            if found.has_ended:
                return
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout(f"operation {operation} is {found.state} after {timeout_seconds} seconds")
            time.sleep(LOOK_SECONDS if deadline is None else min(LOOK_SECONDS, deadline - time.monotonic()))

    def list(
        self,
        *,
        state: OperationState | Sequence[OperationState] | None = None,
        verb: OperationVerb | None = None,
        biz_type: str | None = None,
        page_size: int | None = None,
    ) -> Iterator[Operation]:
        """Operations for which everything holds that is given, the newest first."""
        query = parameters(state=state, verb=verb, biz_type=biz_type, limit=page_size)
        return self._connection.pages(Operation, "/operations", query=query)

    def stop(self, operation: int, *, reason: str = "") -> Operation:
        """Stops an operation. Jobs that it changed already stay changed."""
        body = given(reason=reason or None)
        return self._connection.one(Operation, Request("POST", f"/operations/{operation}/stop", body=body))

    def rest(self, operation: int, *, reason: str = "") -> Operation:
        """Plans the verb of an operation that stopped or failed for the jobs that it left; nothing changes yet.

        As long as such a plan has not been started, it is that one. ``WrongState`` where nothing is left, or it is not
        known what.

        Args:
            operation: the number of the one that stopped or failed.
            reason: why, for the audit; without one it is that of the operation.
        """
        body = given(reason=reason or None)
        return self._connection.one(Operation, Request("POST", f"/operations/{operation}/rest", body=body))

    def pace(self, operation: int, *, rate_per_second: float | None) -> Operation:
        """Gives a running operation another pace, in jobs a second; None: as fast as possible."""
        body = {"rate_per_second": rate_per_second}
        return self._connection.one(Operation, Request("POST", f"/operations/{operation}/pace", body=body))
