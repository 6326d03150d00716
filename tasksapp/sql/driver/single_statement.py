"""A statement that is a transaction of its own, prepared, by the shortest way through the driver.

See decisions 15, 20 and 114.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary


def may_be_single(connection: Any) -> bool:
    """Whether a statement may go past Django's cursor now.

    Only with psycopg 3, outside of transactions, which psycopg begins by itself, and while neither wrappers nor logs of
    statements are installed. Not where gevent or eventlet have replaced the sockets: libpq waits by itself, so all
    greenlets would stand still.
    """
    return bool(
        socket.socket.__module__ == "socket"
        and connection.vendor == "postgresql"
        and connection.Database.__name__ == "psycopg"
        and not connection.in_atomic_block
        and not connection.execute_wrappers
        and not connection.queries_logged
        # ``get_autocommit()`` opens the connection first; one that is open says it at once.
        and (connection.get_autocommit() if connection.connection is None else connection.autocommit)
    )


def session_of(connection: Any) -> Any:
    """libpq's own connection, which was checked and opened as ``connection.cursor()`` does it."""
    if connection.connection is None or not connection.health_check_done:
        connection.close_if_health_check_failed()
        connection.ensure_connection()
    connection.validate_thread_sharing()
    return connection.connection.pgconn


def texts_of(values: Sequence[Any]) -> list[bytes | None]:
    """The values as PostgreSQL reads them."""
    return [None if value is None else str(value).encode() for value in values]


def error_of(driver: Any, result: Any) -> Exception:
    """The driver's exception for a result of libpq that is an error."""
    code = result.error_field(driver.pq.DiagnosticField.SQLSTATE)
    try:
        kind = driver.errors.lookup(code.decode())
    except (AttributeError, KeyError):  # a lost connection has no code, and a newer server may have newer ones
        kind = driver.OperationalError
    error: Exception = kind(result.error_message.decode(errors="replace").strip())
    return error


#: SQLSTATE: the statement is prepared already, is not there, or its plan no longer fits the tables.
_ALREADY_THERE, _NOT_THERE, _OUTDATED = b"42P05", b"26000", b"0A000"

Rows = list[list[str | None]]


class SingleStatement:
    """A statement whose plan PostgreSQL keeps, from a connection's second use of it on; libpq itself runs it.

    Behind a pooler, the server connection may be another one, which does not know the plan: then it has run nothing,
    the statement itself is sent, and that connection prepares it no more. The name is made of a hash of the statement,
    so it never means another.

    Args:
        sql: the statement, its parameters written ``$1``.
    """

    def __init__(self, sql: str) -> None:
        self._sql = sql.encode()
        self._name = f"delayhub_{hashlib.sha256(self._sql).hexdigest()[:16]}".encode()
        #: Whether each connection of the driver may use the plan; None: it has run the statement once.
        self._ready: WeakKeyDictionary[Any, bool | None] = WeakKeyDictionary()

    def rows(self, connection: Any, values: Sequence[Any]) -> Rows:
        """Its rows, each value as PostgreSQL writes it; none of a statement that gives back none.

        The connection is checked as ``connection.cursor()`` does it, and errors are Django's.

        Args:
            connection: one for which ``may_be_single`` is true.
            values: the parameters, each with the ``str`` that PostgreSQL reads, or None.
        """
        session, texts = session_of(connection), texts_of(values)
        known = connection.Database.pq.ExecStatus
        good = {known.TUPLES_OK, known.COMMAND_OK}
        with connection.wrap_database_errors:
            if self._is_ready(connection, session):
                result = session.exec_prepared(self._name, texts)
                if result.status in good:
                    return _rows(result)
                if _sqlstate(connection, result) not in {_NOT_THERE, _OUTDATED}:
                    raise error_of(connection.Database, result)
                self._ready[connection.connection] = False
            result = session.exec_params(self._sql, texts)
            if result.status not in good:
                raise error_of(connection.Database, result)
            return _rows(result)

    def _is_ready(self, connection: Any, session: Any) -> bool:
        driver = connection.connection
        if driver not in self._ready:
            # Not at the first use: it takes a round trip, which a connection for one request gains nothing by.
            self._ready[driver] = None
            return False
        ready = self._ready[driver]
        if ready is None:
            result = session.prepare(self._name, self._sql)
            made = result.status == connection.Database.pq.ExecStatus.COMMAND_OK
            ready = self._ready[driver] = made or _sqlstate(connection, result) == _ALREADY_THERE
        return ready


def _rows(result: Any) -> Rows:
    columns = range(result.nfields)
    return [[_text(result.get_value(row, column)) for column in columns] for row in range(result.ntuples)]


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _sqlstate(connection: Any, result: Any) -> bytes | None:
    code: bytes | None = result.error_field(connection.Database.pq.DiagnosticField.SQLSTATE)
    return code
