"""The rows of jobs: the timeout centre, from POST to callback."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable

import psycopg

from proof.faults.centre import POSTING_SECONDS, Centre
from proof.faults.row import AT_LEAST_ONCE, ONCE, Row
from proof.faults.small_disk import fill
from proof.faults.task_rows import AWAY_SECONDS, disk_full, flushed, redis_killed, rolled_back

#: How long another transaction holds rows: longer than a caller's wait for a lock, which is 3 s.
HELD_SECONDS = 4.0
#: More than the centre has, so that one is left for the deed that takes them.
CONNECTIONS, OTHERS = 60, "others"


def _postgres_killed(centre: Centre) -> None:
    assert centre.postgres is not None
    centre.postgres.kill()
    time.sleep(AWAY_SECONDS)
    centre.postgres.start()


def _no_connections(centre: Centre) -> None:
    """Others take all connections, and those that the centre has are ended as often as it has some."""
    assert centre.postgres is not None
    until = time.monotonic() + 3 * AWAY_SECONDS
    with contextlib.ExitStack() as held:
        first = held.enter_context(psycopg.connect(centre.postgres.url, autocommit=True, application_name=OTHERS))
        while time.monotonic() < until:
            with contextlib.suppress(psycopg.OperationalError):  # there are no more
                for _ in range(CONNECTIONS):
                    held.enter_context(psycopg.connect(centre.postgres.url, application_name=OTHERS))
            first.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name <> %s AND backend_type = 'client backend'",
                [OTHERS],
            )


def _held(statement: str) -> Callable[[Centre], None]:
    def deed(centre: Centre) -> None:
        assert centre.postgres is not None
        with psycopg.connect(centre.postgres.url) as other:
            other.execute(statement)
            time.sleep(HELD_SECONDS)

    return deed


def _sqlite_held(centre: Centre) -> None:
    other = sqlite3.connect(centre.data / "delayhub.sqlite3", isolation_level=None, timeout=30)
    with contextlib.closing(other):
        other.execute("BEGIN IMMEDIATE")
        time.sleep(HELD_SECONDS)
        other.execute("ROLLBACK")


def _database_disk_full(centre: Centre) -> None:
    filler = fill(centre.data)
    if centre.postgres is not None and not _ends(centre.postgres.url):
        raise RuntimeError("the disk is not full")
    time.sleep(3 * AWAY_SECONDS)
    filler.unlink()
    centre.tend()


def _ends(url: str) -> bool:
    """Writes to the log of a PostgreSQL until that fails: it needs room now, and not only for its tables."""
    try:
        with psycopg.connect(url, autocommit=True) as other:
            for _ in range(1000):
                other.execute("SELECT pg_logical_emit_message(true, '', repeat('x', 100000))")
    except psycopg.Error:
        return True
    return False


def _replies_lost(centre: Centre) -> None:
    assert centre.proxy is not None
    centre.proxy.lose_replies(0.05)
    time.sleep(POSTING_SECONDS)
    centre.proxy.lose_replies(0.0)


def _row(
    name: str, what: str, deed: Callable[[Centre], None], promise: str = "each job is called back", **crew: object
) -> Row:  # fmt: skip
    none = ONCE if "once" in promise else AT_LEAST_ONCE
    return Row(f"jobs_{name}", what, promise, deed, none, crew, brokers=("delayhub",), runs=25, kind=Centre)


#: Where neither a worker nor the database breaks, no callback has to come again.
EACH_ONCE = "each job is called back, once"
#: So slow a receiver that most workers have a callback under way.
SLOW_MS = 300
JOB_ROWS = (
    _row("worker_killed", "kill -9 of a worker", Centre.replace_worker, answer_ms=SLOW_MS),
    _row(
        "child_killed", "kill -9 of a child of the prefork pool", Centre.kill_a_child, pool="prefork",
        answer_ms=SLOW_MS,
    ),
    _row("stopped", "a worker stands still beyond its lease, and goes on", Centre.stop_a_worker, answer_ms=SLOW_MS),
    _row(
        "web_killed", "kill -9 of the web server", Centre.replace_web,
        "each job that it had taken is called back, once",
    ),
    _row("redis_killed", "kill -9 of Redis", redis_killed, EACH_ONCE),
    _row("reply_lost", "one in twenty replies of Redis is lost", _replies_lost, EACH_ONCE, through_proxy=True),
    _row("rolled_back", "Redis goes back by half a second", rolled_back, EACH_ONCE),
    _row("flushed", "`FLUSHALL`", flushed, "each job is called back, once: its row is what counts"),
    _row("disk_full", "the disk of Redis is full for a while", disk_full, EACH_ONCE, redis_disk="4m"),
    _row("postgresql_killed", "kill -9 of PostgreSQL", _postgres_killed),
    _row(
        "no_connections", "PostgreSQL takes no connections (`max_connections`), and ends those that there are",
        _no_connections, settings={"max_connections": CONNECTIONS},
    ),
    _row(
        "postgresql_disk_full", "the disk of PostgreSQL is full for a while, so it ends, and cannot start",
        _database_disk_full, disk="96m", settings={"min_wal_size": "2MB", "wal_recycle": "off"},
    ),
    _row(
        "sqlite_disk_full", "the disk of SQLite is full for a while", _database_disk_full, database="sqlite", disk="8m",
    ),
    _row(
        "rows_held", "another transaction holds the rows of all jobs that wait for 4 s",
        _held("SELECT id FROM delayhub_job WHERE status = 'pending' FOR UPDATE"),
    ),
    _row(
        "biz_type_held", "another transaction holds the row of their biz type for 4 s",
        _held("SELECT id FROM delayhub_biz_type FOR UPDATE"),
    ),
    _row("sqlite_held", "another transaction holds all of SQLite for 4 s", _sqlite_held, database="sqlite"),
    _row(
        "clock_off", "the clock of one of three workers is an hour off", Centre.start_wrong_worker,
        "each job is called back, on time, once",
    ),
)  # fmt: skip
