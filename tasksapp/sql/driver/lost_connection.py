"""Closes a connection of PostgreSQL as soon as it says that it is of no use, so that the next call opens another.

After a failover a connection may lead to a server that has become a standby, which answers reads and health checks.
Kept for ``CONN_MAX_AGE``, it would refuse each write for as long.
"""

from __future__ import annotations

import contextlib
import logging
from types import TracebackType
from typing import Any

from django.db.utils import DatabaseErrorWrapper

from tasksapp.models.database_faults import ends_connection

logger = logging.getLogger(__name__)


class ClosingErrorWrapper(DatabaseErrorWrapper):
    """The context of each call of the driver: Django's cursors, fetches and commits, and our own shortcuts.

    An execute wrapper would see neither commits nor fetches, and would turn off the shortcut of single statements.
    """

    wrapper: Any

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, self.wrapper.Database.Error):
            raw = self.wrapper.connection
            if raw is not None and (raw.closed or ends_connection(error)):
                self._close(raw, error)
        super().__exit__(kind, error, trace)

    def _close(self, raw: Any, error: BaseException) -> None:
        logger.warning("closing a connection to the database: %s", error, extra={"action": "reconnect"})
        with contextlib.suppress(self.wrapper.Database.Error):
            raw.close()  # first: a pool would take an open one back, and give it out again
        with contextlib.suppress(Exception):
            # In a transaction, Django keeps what is closed until the outermost block has ended.
            self.wrapper.close()


def watch(*, connection: Any, **_: Any) -> None:
    """Receive ``connection_created``: let each call on the connection run in a ClosingErrorWrapper."""
    if connection.vendor == "postgresql" and not isinstance(connection.wrap_database_errors, ClosingErrorWrapper):
        connection.wrap_database_errors = ClosingErrorWrapper(connection)
