"""Snapshot: a transaction that sees the database as it was at its beginning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, transaction


@contextmanager
def snapshot(*, using: str, read_only: bool = False) -> Iterator[None]:
    """Within the block all that is read is of one moment; within another transaction it is that one's.

    What the block changes, and another transaction changed meanwhile, ends it with an OperationalError of PostgreSQL.
    SQLite has one writer at a time, and its readers have snapshots anyway.

    Args:
        using: the database.
        read_only: whether the block only reads.
    """
    connection = connections[using]
    is_outermost = not connection.in_atomic_block
    with transaction.atomic(using=using):
        if is_outermost and connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                level = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
                cursor.execute(f"{level}, READ ONLY" if read_only else level)
        yield
