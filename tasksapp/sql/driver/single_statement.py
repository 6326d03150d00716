"""A statement that is a transaction of its own, by the shortest way through the driver: see decision 15."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any


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
        and connection.get_autocommit()
    )


def execute_single(connection: Any, sql: bytes, values: Sequence[Any]) -> None:
    """Runs a statement that gives back no rows, by libpq itself.

    The connection is checked as ``connection.cursor()`` does it, and errors are Django's. The statement has no name, so
    that it also works behind poolers.

    Args:
        connection: one for which ``may_be_single`` is true.
        sql: the statement, its parameters written ``$1``.
        values: the parameters, each with the ``str`` that PostgreSQL reads, or None.
    """
    driver, session = connection.Database, session_of(connection)
    texts = texts_of(values)
    with connection.wrap_database_errors:
        result = session.exec_params(sql, texts)
        if result.status != driver.pq.ExecStatus.COMMAND_OK:
            raise error_of(driver, result)


def session_of(connection: Any) -> Any:
    """libpq's own connection, which was checked and opened as ``connection.cursor()`` does it."""
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
