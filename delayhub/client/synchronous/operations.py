"""The verbs of operations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Unpack

from delayhub.api_models.operations import JobFilter, Operation, OperationQuery, OperationStart, OperationVerb
from delayhub.client.errors import WaitTimeout
from delayhub.client.request import Request, parameters, read
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
        fields = {"verb": verb, "filter": jobs, "due_at": due_at, "reason": reason or None}
        return self._connection.post(Operation, "/operations", **fields)

    def start(
        self, operation: int, *, spread: timedelta | float | None = None, **fields: Unpack[OperationStart]
    ) -> Operation:
        """Starts an operation that is planned.

        Args:
            operation: its number.
            spread: over how long; a timedelta or seconds. Without it and ``rate_per_second``: as fast as possible.
            fields: its pace and its trial.
        """
        path = f"/operations/{operation}/start"
        return self._connection.post(Operation, path, spread_seconds=spread, **fields)

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

    def list(self, *, page_size: int | None = None, **query: Unpack[OperationQuery]) -> Iterator[Operation]:
        """The operations that the query names, the newest first."""
        return self._connection.pages(Operation, "/operations", query=parameters(**query, limit=page_size))

    def stop(self, operation: int, *, reason: str = "") -> Operation:
        """Stops an operation. Jobs that it changed already stay changed."""
        return self._connection.post(Operation, f"/operations/{operation}/stop", reason=reason or None)

    def rest(self, operation: int, *, reason: str = "") -> Operation:
        """Plans the verb of an operation that stopped or failed for the jobs that it left; nothing changes yet.

        As long as such a plan has not been started, it is that one. ``WrongState`` where nothing is left, or it is not
        known what.

        Args:
            operation: the number of the one that stopped or failed.
            reason: why, for the audit; without one it is that of the operation.
        """
        return self._connection.post(Operation, f"/operations/{operation}/rest", reason=reason or None)

    def pace(self, operation: int, *, rate_per_second: float | None) -> Operation:
        """Gives a running operation another pace, in jobs a second; None: as fast as possible."""
        body = {"rate_per_second": rate_per_second}
        return self._connection.one(Operation, Request("POST", f"/operations/{operation}/pace", body=body))
