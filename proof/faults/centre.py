"""Centre: the timeout centre of one run, from POST to callback: servers, a web server, two workers and a receiver.

Web server and workers are forks of a process with the project's settings: granian and Celery, as a site has them. Jobs
are posted by a process of its own, which posts again what was not answered.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.processes import append_line, words_of
from delayhub.local.redis_server import RedisServer, free_port
from proof.faults.crew import LOOK_SECONDS, PATIENCE_SECONDS
from proof.faults.figures import figures
from proof.faults.forks import forked, has_ended, kill
from proof.faults.postgres import Postgres, give
from proof.faults.shop import LEASE_SECONDS, now
from proof.faults.small_disk import small_disk
from proof.faults.staff import Staff
from tests.healing import what_was_healed
from tests.migrated_file import made_once
from tests.repository import ROOT
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until
from tests.web_server import BIZ_TYPE, asked, environment_of, prepare_database

#: Jobs of a run; half of them are posted while the fault happens, over so many seconds.
ITEMS, POSTING_SECONDS = 40, 2.0
#: Half of the jobs are due so much later.
DELAY_SECONDS = 2.0
CANCELLED = 6
#: How long a caller posts the same job again.
CALLER_PATIENCE_SECONDS = 20.0


class Centre(Staff):
    """One run.

    Args:
        folder: for logs, and the files of the servers.
        broker: always ``delayhub``.
        seed: decides when what happens.
        database: ``sqlite`` or ``postgresql``.
        pool: of the workers.
        disk: the size of the database's disk, as ``8m``; by default it has all there is.
        redis_disk: the size of that of Redis.
        through_proxy: whether Redis is reached through a proxy that can lose replies.
        answer_ms: how long the receiver takes.
        settings: more of ``postgresql.conf``.
    """

    def __init__(
        self, folder: Path, broker: str, *, seed: int, database: str = "postgresql", pool: str = "threads",
        disk: str = "", redis_disk: str = "", through_proxy: bool = False, answer_ms: int = 50,
        settings: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(folder, seed=seed)
        self.pool, self.database, self.disk, self.redis_disk = pool, database, disk, redis_disk
        fsync = "everysec" if redis_disk else "always"  # with always, a full disk ends Redis
        self.server = RedisServer(
            data_dir=folder / "redis", append_only=True,
            config={"appendfsync": fsync, "auto-aof-rewrite-percentage": 0},
        )  # fmt: skip
        self.through_proxy, self.answer_ms = through_proxy, answer_ms
        self.proxy: TcpProxy | None = None
        self.settings = dict(settings or {})
        self.postgres: Postgres | None = None
        self.web = self.caller = 0
        self.cancelled: dict[int, float] = {}
        self._posted = 0
        self._ending = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _start(self) -> None:
        if self.redis_disk:
            self._ending.enter_context(small_disk(self.folder / "redis", self.redis_disk))
        self._ending.enter_context(self.server)
        if self.through_proxy:
            self.proxy = TcpProxy(self.server.port)
        self.data = self.folder / "site"
        if self.disk:
            self._ending.enter_context(small_disk(self.data, self.disk))
        if self.database == "postgresql":
            filled = made_once("postgresql.filled", lambda data: Postgres.filled(data, _fill))
            self.data.mkdir(exist_ok=True)
            subprocess.run(["cp", "-a", str(filled), str(self.data / "postgres")], check=True)
            give(self.data / "postgres")
            self.postgres = self._ending.enter_context(Postgres(self.data / "postgres", **self.settings))
        else:
            prepare_database(self.data)
        command = [sys.executable, "-m", "benchmarks.jobs_receiver", str(self.folder / "received")]
        receiver = self._ending.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE))
        self._ending.callback(receiver.kill)
        assert receiver.stdout is not None
        self._become_the_project(int(receiver.stdout.readline()))
        self.port = free_port()
        self.start_web()
        for _ in range(2):
            self.start_worker()
        if self.proxy:  # its threads come after the forks
            self._ending.enter_context(self.proxy)
        self._wait_for_workers(2)
        wait_until(self._serves, otherwise=(self.folder / "web.log").read_text)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [self.caller, self.web, *self.workers]:
            if process:
                kill(process)
        self._ending.close()

    # ------------------------------------------------------------ its processes

    def start_web(self) -> None:
        """A web server, on the port of the last."""
        self.web = self._forked(partial(self.project.serve, self.port), "web.log")

    def start_worker(self) -> None:
        """One more worker."""
        self.workers.append(self._forked(partial(self.project.work, self.pool), "worker.log"))

    def start_wrong_worker(self) -> None:
        """One more worker, whose clock is an hour off."""
        command = [sys.executable, "-m", "celery", "-A", "delayhub.project", *self.project.words(self.pool)]
        with (self.folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=self.wrong_clock(), stdout=log, stderr=log, start_new_session=True, cwd=ROOT
            )  # fmt: skip
        self.workers.append(process.pid)
        self._wait_for_workers(3)

    def replace_web(self) -> None:
        """The web server dies by kill -9, and another one takes its place."""
        kill(self.web)
        self.start_web()

    def tend(self) -> None:
        """Starts another process for each that ended by itself; the database too, which is no fault of ours."""
        super().tend()
        if has_ended(self.web):
            self.start_web()
            self.restarted += 1
        if self.postgres is not None and self.postgres.has_ended:
            self.postgres.start()

    # ------------------------------------------------------------ its jobs

    def begin(self) -> None:
        """Posts half of the jobs, and begins to post the others. Only those count whose POST was answered."""
        self._post(0, ITEMS // 2)
        self.caller = self._forked(self._post_the_others, "caller.log")

    def _post_the_others(self) -> None:
        for number in range(ITEMS // 2, ITEMS):
            self._post(number, number + 1)
            time.sleep(POSTING_SECONDS / ITEMS * 2)

    def _post(self, first: int, end: int) -> None:
        for number in range(first, end):
            due = now() + (self.chance.uniform(0.2, DELAY_SECONDS) if number % 2 else 0.0)
            body = {
                "biz_type": BIZ_TYPE, "biz_id": str(number), "due_at": _text(due), "idempotency_key": str(number),
            }  # fmt: skip
            until = time.monotonic() + CALLER_PATIENCE_SECONDS
            while time.monotonic() < until:
                answer = self._ask("POST", "/jobs", body)
                if answer is not None and answer.status in (200, 201):
                    append_line(self.folder / "posted", number, answer.json["id"], due)
                    break
                append_line(self.folder / "refused", number, None if answer is None else answer.status)
                time.sleep(LOOK_SECONDS)

    def cancel_some(self) -> None:
        """Cancels some of what waits, the last first; a confirmed cancel is one that was answered with 200."""
        posted = words_of(self.folder / "posted")[: ITEMS // 2]
        for number, job_id, _ in sorted(posted, key=lambda words: float(words[2]))[-CANCELLED:]:
            answer = self._ask("POST", f"/jobs/{job_id}/cancel", {})
            if answer is not None and answer.status == 200:
                self.cancelled[int(number)] = now()

    def wait_for_some(self) -> None:
        """Waits until some callbacks have come."""
        some = self.chance.randrange(1, 6)
        wait_until(lambda: len(words_of(self.folder / "received")) >= some, within_seconds=PATIENCE_SECONDS)

    def _wait_for_workers(self, count: int) -> None:
        log = self.folder / "worker.log"
        log.touch()
        wait_until(lambda: log.read_text().count(" ready.") >= count, otherwise=log.read_text)

    def _ask(self, method: str, path: str, body: object) -> Any:
        try:
            return asked(self.port, method, path, body)
        except (OSError, HTTPException):
            return None

    def _serves(self) -> bool:
        answer = self._ask("GET", "/jobs", None)
        return answer is not None and answer.status == 200

    # ------------------------------------------------------------ what became of them

    def to_run(self) -> set[int]:
        """The numbers of those that were posted and not called back yet, and of those that are to be posted."""
        called = {words[1] for words in self._received()}
        return set(range(ITEMS)) - {
            int(number) for number, job_id, _ in words_of(self.folder / "posted") if job_id in called
        }

    def judged(self) -> dict[str, Any]:
        """Waits until each job was called back and none is live, or it takes too long; and counts."""
        until = time.monotonic() + PATIENCE_SECONDS
        live: set[str] | None = None
        while time.monotonic() < until:
            if self.caller and has_ended(self.caller):
                self.caller = 0  # its number may be another's from now on
            if not self.caller and (live := self.project.live()) is not None and not live:
                break
            self.tend()
            time.sleep(LOOK_SECONDS)
        time.sleep(LEASE_SECONDS + 1)  # what comes again comes now
        posted = {int(number): float(due) for number, _, due in words_of(self.folder / "posted")}
        due = {number: moment for number, moment in posted.items() if number not in self.cancelled}
        numbers = self.project.numbers()  # of all jobs: one that is there twice is called back twice
        came = [(numbers[words[1]], int(words[0]) / 1e6) for words in self._received() if words[1] in numbers]
        called = {number for number, _ in came}
        stuck = len(due) if live is None else sum(numbers[job_id] not in called for job_id in live)
        with self.server.client() as client:
            healed = sum(sum(what.values()) for what in what_was_healed(client).values())
        counted = figures(due, came, cancelled=self.cancelled, left=stuck, restarted=self.restarted, healed=healed)
        return {**counted, "refused": len(words_of(self.folder / "refused"))}

    def _received(self) -> list[list[str]]:
        return [words for words in words_of(self.folder / "received") if len(words) == 4]

    # ------------------------------------------------------------ the project

    def _become_the_project(self, receiver_port: int) -> None:
        own = {
            "DELAYHUB_BROKER_URL": f"delayhub://127.0.0.1:{self.proxy.port if self.proxy else self.server.port}/0",
            "DELAYHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
            "DELAYHUB_BREAKER_FAILURES": "100000",
            "DELAYHUB_LEASE_SECONDS": str(LEASE_SECONDS),
            "DELAYHUB_BROKER_LEASE_SECONDS": str(LEASE_SECONDS),
            "DELAYHUB_LOG_FORMAT": "console",
            "SKIP_CHECKS": "1",
        }
        if self.postgres is not None:
            own["DELAYHUB_DATABASE_URL"] = self.postgres.url
        os.environ.update(environment_of(self.data, **own))
        self.project = importlib.import_module("proof.faults.project")  # from now on there are settings
        self.project.call_back(f"http://127.0.0.1:{receiver_port}/wait{self.answer_ms}")

    def _forked(self, does: Callable[[], object], log: str) -> int:
        self.project.close_connections()  # a fork must not have its parent's
        return forked(does, log=self.folder / log)


def _fill(url: str) -> None:
    folder = Path(os.environ["PYTEST_DELAYHUB_SHARED"]) / "filling"
    prepare_database(folder, DELAYHUB_DATABASE_URL=url)
    shutil.rmtree(folder)


def _text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()
