"""The audit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.models.audit import AuditEntry
from delayhub.client.request import parameters


class AsyncAudit:
    """Who did what, which takes the scope ``stats``. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    def list(
        self,
        *,
        actor: str | None = None,
        verb: str | None = None,
        biz_type: str | None = None,
        job: str | UUID | None = None,
        operation: int | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[AuditEntry]:
        """Deeds for which everything holds that is given, the newest first. Pages are fetched as they are needed."""
        query = parameters(
            actor=actor,
            verb=verb,
            biz_type=biz_type,
            job_id=job,
            operation_id=operation,
            since=since,
            until=until,
            limit=page_size,
        )
        return self._connection.pages(AuditEntry, "/audit", query=query)
