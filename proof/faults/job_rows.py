"""The rows of jobs: the timeout centre, from POST to callback."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import psycopg

from proof.faults.centre import Centre
from proof.faults.row import Row
from proof.faults.small_disk import fill
from proof.faults.task_rows import AWAY_SECONDS, flushed, redis_killed

#: How long somebody else holds rows: longer than a caller's wait for a lock, which is 3 s.
HELD_SECONDS = 4.0
#: More than the centre has, so that there is one for who takes them.
CONNECTIONS = 60


def _postgres_killed(centre: Centre) -> None:
    assert centre.postgres is not None
    centre.postgres.kill()
    time.sleep(AWAY_SECONDS)
    centre.postgres.start()


def _no_connections(centre: Centre) -> None:
    """Others take all connections, and those that there were are ended."""
    assert centre.postgres is not None
    with contextlib.ExitStack() as held:
        first = held.enter_context(psycopg.connect(centre.postgres.url, autocommit=True))
        first.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        with contextlib.suppress(psycopg.OperationalError):  # there are no more
            for _ in range(CONNECTIONS):
                held.enter_context(psycopg.connect(centre.postgres.url))
        time.sleep(3 * AWAY_SECONDS)


def _held(statement: str) -> Callable[[Centre], None]:
    def deed(centre: Centre) -> None:
        assert centre.postgres is not None
        with psycopg.connect(centre.postgres.url) as other:
            other.execute(statement)
            time.sleep(HELD_SECONDS)

    return deed


def _disk_full(centre: Centre) -> None:
    filler = fill(centre.data)
    if centre.postgres is not None:
        with contextlib.suppress(psycopg.Error), psycopg.connect(centre.postgres.url, autocommit=True) as other:
            for _ in range(1000):  # its log needs room now, and not only its tables
                other.execute("SELECT pg_logical_emit_message(true, '', repeat('x', 100000))")
    time.sleep(3 * AWAY_SECONDS)
    filler.unlink()
    centre.tend()


def _clock_off(centre: Centre) -> None:
    centre.start_wrong_worker(centre.chance.choice([-1.0, 1.0]))


def _row(
    name: str, what: str, promise: str, deed: Callable[[Centre], None], *, runs: int = 25, **crew: object
) -> Row:  # fmt: skip
    return Row(
        f"jobs_{name}", what, promise, deed, crew=crew, brokers=("delayhub",), runs=runs, kind=Centre,
    )  # fmt: skip


EACH = "each job is called back"
JOB_ROWS = (
    _row("worker_killed", "kill -9 of a worker", EACH, Centre.replace_worker),
    _row("child_killed", "kill -9 of a child of the prefork pool", EACH, Centre.kill_a_child, pool="prefork"),
    _row("web_killed", "kill -9 of the web server", "each job that it had taken is called back", Centre.replace_web),
    _row("redis_killed", "kill -9 of Redis", EACH, redis_killed),
    _row("flushed", "`FLUSHALL`", "each job is called back: its row is what counts", flushed),
    _row("postgresql_killed", "kill -9 of PostgreSQL", EACH, _postgres_killed),
    _row(
        "no_connections", "PostgreSQL takes no connections (`max_connections`), and ends those that there are", EACH,
        _no_connections, settings={"max_connections": CONNECTIONS},
    ),
    _row(
        "postgresql_disk_full", "the disk of PostgreSQL is full for a while, so it ends, and cannot start", EACH,
        _disk_full, disk="96m", settings={"min_wal_size": "2MB", "wal_recycle": "off"},
    ),
    _row("sqlite_disk_full", "the disk of SQLite is full for a while", EACH, _disk_full, database="sqlite", disk="8m"),
    _row(
        "rows_held", "somebody holds the rows of all jobs that wait for 4 s", EACH,
        _held("SELECT id FROM delayhub_job WHERE status = 'pending' FOR UPDATE"),
    ),
    _row(
        "biz_type_held", "somebody holds the row of their biz type for 4 s", EACH,
        _held("SELECT id FROM delayhub_biz_type FOR UPDATE"),
    ),
    _row(
        "clock_off", "the clock of one of three workers is an hour off", "each job is called back, on time", _clock_off,
        runs=10,
    ),
)  # fmt: skip
