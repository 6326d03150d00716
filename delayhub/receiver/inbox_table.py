"""The table of an inbox, for PostgreSQL and SQLite: a row for each callback whose work is done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

TABLE = "delayhub_inbox"
#: Longer than any key: an id of at most 200 characters, and the number of a redrive.
KEY_LENGTH = 220

_CREATE_TABLE = (
    f"CREATE TABLE IF NOT EXISTS {TABLE} (id varchar({KEY_LENGTH}) NOT NULL PRIMARY KEY,"
    " received_at bigint NOT NULL, action varchar(20) NOT NULL DEFAULT '')"
)
CREATE = (_CREATE_TABLE, f"CREATE INDEX IF NOT EXISTS {TABLE}_received_at ON {TABLE} (received_at)")

#: Waits, for the end of another transaction that has inserted the same id.
INSERT = f"INSERT INTO {TABLE} (id, received_at, action) VALUES (%s, %s, '') ON CONFLICT (id) DO NOTHING"  # noqa: S608  a constant
FIND = f"SELECT action FROM {TABLE} WHERE id = %s"  # noqa: S608  a constant
NOTE = f"UPDATE {TABLE} SET action = %s WHERE id = %s"  # noqa: S608  a constant
#: Rows a statement: a transaction of a few ms.
PRUNE_ROWS = 1_000
PRUNE = f"DELETE FROM {TABLE} WHERE id IN (SELECT id FROM {TABLE} WHERE received_at < %s LIMIT {PRUNE_ROWS})"  # noqa: S608  a constant

#: How long the insert may wait, and what the setting was before; for this transaction only.
WAIT_ON_POSTGRESQL = "SELECT current_setting('lock_timeout'), set_config('lock_timeout', %s, true)"

#: lock_not_available; serialization_failure and deadlock_detected: another transaction had it.
_BUSY_STATES = {"55P03", "40001", "40P01"}
#: SQLITE_BUSY and SQLITE_LOCKED, in the low byte of extended codes.
_BUSY_CODES = {5, 6}


def is_busy(error: BaseException) -> bool:
    """Whether a statement failed because another transaction had a lock for too long; looks at its causes too."""
    for cause in _causes(error):
        state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
        code = getattr(cause, "sqlite_errorcode", None)
        if state in _BUSY_STATES or (code is not None and code & 0xFF in _BUSY_CODES):
            return True
    return False


def oldest_kept(now_ms: int, *, keep: timedelta) -> int:
    """The Unix second before which rows are pruned.

    Raises:
        ValueError: nothing would be kept.
    """
    if keep <= timedelta():
        raise ValueError(f"keep must be positive, got {keep}")
    return now_ms // 1000 - int(keep.total_seconds())


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        original = getattr(seen, "orig", None)  # SQLAlchemy's
        seen = original if isinstance(original, BaseException) else seen.__cause__
