"""The verbs of operations."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Unpack

import anyio

from delayhub.api_models.operations import JobFilter, Operation, OperationQuery, OperationStart, OperationVerb
from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.errors import WaitTimeout
from delayhub.client.request import Request, parameters, read

#: How often an operation is looked at that is waited for.
LOOK_SECONDS = 1.0


class AsyncOperations:
    """Operations: one verb for all jobs that match a filter. They are planned, looked at, then started.

    Every verb raises :class:`delayhub.client.ApiError`.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def plan(
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
        return await self._connection.post(Operation, "/operations", **fields)

    async def start(
        self, operation: int, *, spread: timedelta | float | None = None, **fields: Unpack[OperationStart]
    ) -> Operation:
        """Starts an operation that is planned.

        Args:
            operation: its number.
            spread: over how long; a timedelta or seconds. Without it and ``rate_per_second``: as fast as possible.
            fields: its pace and its trial.
        """
        path = f"/operations/{operation}/start"
        return await self._connection.post(Operation, path, spread_seconds=spread, **fields)

    async def read(self, operation: int) -> Operation:
        """The operation with that number, and how far it has come."""
        return await self._connection.one(Operation, read(f"/operations/{operation}"))

    async def wait_until_planned(self, operation: int, *, timeout_seconds: float | None = None) -> Operation:
        """The operation, once its jobs have been counted. Also raises WaitTimeout."""
        async for found in self.progress(operation, timeout_seconds=timeout_seconds):
            if found.state != "planning":
                return found
        raise AssertionError("the last one that is shown has ended")

    async def wait(self, operation: int, *, timeout_seconds: float | None = None) -> Operation:
        """The operation, once it has ended. Also raises WaitTimeout."""
        async for found in self.progress(operation, timeout_seconds=timeout_seconds):
            if found.has_ended:
                return found
        raise AssertionError("the last one that is shown has ended")

    async def progress(self, operation: int, *, timeout_seconds: float | None = None) -> AsyncIterator[Operation]:
        """The operation, once a second until it has ended; the last one has. Also raises WaitTimeout."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            found = await self.read(operation)
            yield found
            if found.has_ended:
                return
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout(f"operation {operation} is {found.state} after {timeout_seconds} seconds")
            await anyio.sleep(LOOK_SECONDS if deadline is None else min(LOOK_SECONDS, deadline - time.monotonic()))

    def list(self, *, page_size: int | None = None, **query: Unpack[OperationQuery]) -> AsyncIterator[Operation]:
        """The operations that the query names, the newest first."""
        return self._connection.pages(Operation, "/operations", query=parameters(**query, limit=page_size))

    async def stop(self, operation: int, *, reason: str = "") -> Operation:
        """Stops an operation. Jobs that it changed already stay changed."""
        return await self._connection.post(Operation, f"/operations/{operation}/stop", reason=reason or None)

    async def rest(self, operation: int, *, reason: str = "") -> Operation:
        """Plans the verb of an operation that stopped or failed for the jobs that it left; nothing changes yet.

        As long as such a plan has not been started, it is that one. ``WrongState`` where nothing is left, or it is not
        known what.

        Args:
            operation: the number of the one that stopped or failed.
            reason: why, for the audit; without one it is that of the operation.
        """
        return await self._connection.post(Operation, f"/operations/{operation}/rest", reason=reason or None)

    async def pace(self, operation: int, *, rate_per_second: float | None) -> Operation:
        """Gives a running operation another pace, in jobs a second; None: as fast as possible."""
        body = {"rate_per_second": rate_per_second}
        return await self._connection.one(Operation, Request("POST", f"/operations/{operation}/pace", body=body))
