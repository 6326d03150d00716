"""The audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from delayhub.api_models.audit import AuditEntry, AuditQuery
from delayhub.client.request import parameters
from delayhub.client.synchronous.connection import Connection

#: What the API calls some of the query.
_PARAMETERS = {"job": "job_id", "operation": "operation_id"}


class Audit:
    """Who did what, which takes the scope ``stats``. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, *, page_size: int | None = None, **query: Unpack[AuditQuery]) -> Iterator[AuditEntry]:
        """The deeds that the query names, the newest first. Pages are fetched as they are needed."""
        asked = {_PARAMETERS.get(name, name): value for name, value in query.items()}
        return self._connection.pages(AuditEntry, "/audit", query=parameters(**asked, limit=page_size))
