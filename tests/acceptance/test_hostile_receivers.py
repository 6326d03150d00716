"""A whole worker that delivers to misbehaving receivers of every kind, beside jobs of a receiver that behaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from aiohttp import web

from delayhub.clock import SystemClock, due_ms
from delayhub.demo.site import Site, SiteOptions
from tests.integration.tasksapp.receiver import Receiver
from tests.postgres import postgres_url
from tests.waiting import wait_until

ROOM = Path(__file__).parent
#: Jobs of the receiver that behaves, and how many ms they are apart.
INNOCENT, INNOCENT_EVERY_MS = 120, 50
#: Jobs for each kind of misbehaviour, in the same time.
OTHERS, OTHERS_EVERY_MS = 5, 1_200
#: How much later than due a job may come in beside hostile receivers.
LATE_MS = 100
#: The machine is quiet where no job of a worker without hostile receivers is later than this.
QUIET_MS = 50


class Arrivals(Receiver):
    """A receiver that behaves; by biz type, by how many ms each callback came in after its due time."""

    def __init__(self) -> None:
        super().__init__(self._take)
        self.late: dict[str, list[int]] = defaultdict(list)

    async def _take(self, request: web.Request) -> web.StreamResponse:
        due = due_ms(datetime.fromisoformat(request.headers["delayhub-due-at"]))
        self.late[request.headers["delayhub-biz-type"]].append(SystemClock().now_ms() - due)
        return web.Response(status=204)


@contextmanager
def talking_to(script: str, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A program of this folder, with which the test talks in lines."""
    command = [sys.executable, str(ROOM / script)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as talk:
        yield talk
        talk.communicate(timeout=60)


def hears(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def say(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


@contextmanager
def databases(*names: str) -> Iterator[list[str]]:
    """The addresses of databases to be; the caller creates them.

    On PostgreSQL: on SQLite, the claims of a busy worker wait for each other by up to a second.
    """
    server = postgres_url().rpartition("/")[0]
    yield [f"{server}/{name}_{os.getpid()}" for name in names]
    for name in names:
        on_server(f"DROP DATABASE IF EXISTS {name}_{os.getpid()} WITH (FORCE)")


def on_server(statement: str) -> None:
    """Runs a statement that needs a connection outside of the databases it is about."""
    server = postgres_url().rpartition("/")[0]
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(statement.encode())


@contextmanager
def workers(folder: Path, *names: str) -> Iterator[list[Site]]:
    """Sites without a web server: Redis, a database and a worker each."""
    with ExitStack() as undo:
        sites = []
        for name, address in zip(names, undo.enter_context(databases(*names)), strict=True):
            site = Site(SiteOptions(data_dir=folder / name, settings={"DELAYHUB_DATABASE_URL": address}))
            undo.enter_context(site.folder)
            undo.enter_context(site.redis)
            database = address.rpartition("/")[2]
            if sites:
                on_server(f"CREATE DATABASE {database} TEMPLATE {names[0]}_{os.getpid()}")
            else:
                on_server(f"CREATE DATABASE {database}")
                site.prepare()
            sites.append(site)
        for site in sites:
            undo.callback(site.worker.stop)
            site.worker.launch()
        yield sites


def asked(name: str, url: str, *, others: Mapping[str, str]) -> str:
    """The biz type of that name with its jobs, and those of the other receivers."""
    patience = {"timeout_seconds": 2.0, "max_attempts": 2, "backoff_min_seconds": 0.5}
    biz_types: list[dict[str, Any]] = [{"code": name, "url": url}]
    jobs: list[dict[str, Any]] = [
        {"biz_type": name, "after_ms": 0, "count": INNOCENT, "every_ms": INNOCENT_EVERY_MS},
    ]
    for number, (kind, other) in enumerate(others.items()):
        biz_types.append({"code": kind, "url": other, **patience})
        # Spread, since a burst of jobs takes its time with any receiver.
        after = OTHERS_EVERY_MS * number // len(others)
        jobs.append(
            {"biz_type": kind, "biz_id": "same", "after_ms": after, "count": OTHERS, "every_ms": OTHERS_EVERY_MS}
        )
    return json.dumps({"biz_types": biz_types, "jobs": jobs})


def processor_seconds(site: Site) -> float:
    """What the processor has worked for the site's worker: the same on a busy machine as on a quiet one."""
    user, system = Path(f"/proc/{site.worker.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.nightly
@pytest.mark.timeout(300)  # 20 s on a quiet machine; the processes of two sites take four times as long on a busy one
def test_hostile_receivers_cost_other_jobs_neither_an_attempt_nor_their_time(tmp_path: Path) -> None:
    """The same jobs fall due at the same moments in a worker whose other receivers are hostile, and in one where not.

    Whatever else the machine does, none of them loses an attempt, and the processor works at most twice as long for the
    first worker as for the second. On a machine that is quiet enough for the second worker to be in time, a job of the
    first comes in at most 100 ms later than due, plus twice what the latest of the second one was late. On a busy one,
    lateness says nothing about receivers; the tests of ``tasksapp.delivery`` measure the loop's turns in CPU time.
    """
    with ExitStack() as undo:
        hostile = undo.enter_context(talking_to("hostile_receivers.py", os.environ))
        arrivals = undo.enter_context(Arrivals())
        beside, control = undo.enter_context(workers(tmp_path, "beside", "control"))
        addresses: dict[str, str] = json.loads(hears(hostile))
        makers = [undo.enter_context(talking_to("make_jobs.py", site.environment)) for site in (beside, control)]
        say(makers[0], asked("beside", arrivals.url(), others=addresses))
        say(makers[1], asked("control", arrivals.url(), others=dict.fromkeys(addresses, arrivals.url())))
        for site, maker in zip((beside, control), makers, strict=True):
            site.worker.wait_until_ready()
            assert hears(maker) == "ready"

        before = [processor_seconds(site) for site in (beside, control)]
        for maker in makers:
            say(maker, str(SystemClock().now_ms() + 1_500))
        assert [hears(maker) for maker in makers] == ["made", "made"]

        wait_until(
            lambda: len(arrivals.late["beside"]) >= INNOCENT and len(arrivals.late["control"]) >= INNOCENT,
            otherwise=lambda: f"{arrivals.late}\n{beside.worker.log_tail()}",
        )
        with psycopg.connect(beside.environment["DELAYHUB_DATABASE_URL"], autocommit=True) as database:
            jobs = (
                "SELECT status, attempts, count(*) FROM delayhub_job JOIN delayhub_biz_type kind"
                " ON kind.id = biz_type_id WHERE (code = 'beside') = %s GROUP BY 1, 2"
            )
            wait_until(
                lambda: database.execute(jobs, [True]).fetchall() == [("succeeded", 1, INNOCENT)],
                otherwise=lambda: database.execute(jobs, [True]).fetchall(),
            )
            others = database.execute(jobs, [False]).fetchall()
            errors = "SELECT error FROM delayhub_attempt WHERE error ~ 'RuntimeError|File exists|Bad file descriptor'"
            assert database.execute(errors).fetchall() == []
        beside.worker.check()
        spent = [processor_seconds(site) - was for site, was in zip((beside, control), before, strict=True)]
    assert sum(count for _, attempts, count in others if attempts) > len(addresses)
    assert len(arrivals.late["beside"]) == INNOCENT
    assert spent[0] <= 2 * spent[1]
    if max(arrivals.late["control"]) <= QUIET_MS:
        assert max(arrivals.late["beside"]) <= LATE_MS + 2 * max(arrivals.late["control"])
