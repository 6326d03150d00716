"""Count the calls of the paths of a job: ``python -m benchmarks.calls_jobs DATABASE``, which prints JSON.

It runs the ready-made project in this process, with a private Redis. A create goes through the WSGI application, with
its middlewares. Deliveries are given their outcome without a request, since that is the receiver's part.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.call_counter import CallCounter, Calls
from benchmarks.jobs_rig import Database, Rig
from delayhub.local.redis_server import RedisServer

#: Pieces of work that are done before counting begins, and those that are counted.
WARM_UP, COUNTED = 20, 100
BULK = 100


class Jobs:
    """The paths of a job. Each is one piece of work, by name."""

    def __init__(self) -> None:
        from django.core.wsgi import get_wsgi_application
        from django.utils import timezone

        from tasksapp.access.keys import issue_key
        from tasksapp.delivery.outcomes import CallbackResult, Delivered, Response, Retry
        from tasksapp.jobs.claimer import Claimer
        from tasksapp.jobs.completer import Completer
        from tasksapp.maintenance.loader import Loader
        from tasksapp.maintenance.thread import MaintenanceThread
        from tasksapp.models import BizType
        from tasksapp.timers.lanes import client
        from tasksapp.timers.redis_clock import RedisClock
        from tasksapp.workers.job_callbacks import JobCallbacks

        self._now, self._result = timezone.now, CallbackResult
        self._delivered, self._failed = Delivered(), Retry("HTTP 503", kind="http.503")
        self._response = Response(503, {"server": "shop"}, "later")
        self._application, self._key = get_wsgi_application(), issue_key("counter").key
        BizType.objects.create(code="order.close", url="http://127.0.0.1:9/hooks", jitter=0)
        self._clock = RedisClock(client)
        self._clock.ask()
        self._claimer = Claimer(clock=self._clock, worker="counter", using="default")
        completer = Completer(clock=self._clock, worker="counter", using="default")
        self._callbacks = JobCallbacks(clock=self._clock, completer=completer)
        self._maintenance = MaintenanceThread(Loader(using="default", clock=self._clock))
        self._due: list[UUID] = []
        self._claimed: Any = []
        self.paths: Mapping[str, tuple[Callable[[], object], Callable[[], object], int]] = {
            "create single": (_nothing, self.create, 1),
            "create bulk": (_nothing, self.create_bulk, BULK),
            "claim": (self.make_due, self.claim, 1),
            "outcome": (self.make_claimed, self.succeed, 1),
            "failed attempt": (self.make_claimed, self.fail, 1),
            "idle second": (_nothing, self._maintenance.run_once, 1),
        }

    def create(self) -> None:
        """Create one job by REST."""
        self._post("/api/v1/jobs", self._job(), wanted="201")

    def create_bulk(self) -> None:
        """Create many jobs by one request."""
        self._post("/api/v1/jobs/bulk", {"jobs": [self._job() for _ in range(BULK)]}, wanted="201")

    def make_due(self) -> None:
        """Make a job that is due, for the claim that follows."""
        from tasksapp.jobs.creation import create

        self._due = [create("order.close", due_at=self._now() - timedelta(seconds=1), body={"order": 42}).job_id]

    def claim(self) -> None:
        """Claim the job, and make its callback."""
        answer = self._claimer.claim_due(self._due, now_ms=self._clock.now_ms())
        running = self._claimer.running_jobs(answer)
        self._claimed = self._callbacks.make(running, claimed_at=self._clock.monotonic())

    def make_claimed(self) -> None:
        """Make a job and claim it, for the outcome that follows."""
        self.make_due()
        self.claim()

    def succeed(self) -> None:
        """Write that the callback succeeded."""
        self._end(self._delivered, None)

    def fail(self) -> None:
        """Write that the callback failed, to be retried."""
        self._end(self._failed, self._response)

    def _end(self, outcome: Any, response: Any) -> None:
        began = self._clock.now_ms()
        results = [self._result(one, outcome, began, 5, response) for one in self._claimed]
        assert len(results) == 1, "the job was not claimed"
        self._callbacks.write(results)

    def _job(self) -> dict[str, object]:
        return {"biz_type": "order.close", "delay": 3600, "body": {"order": 42, "note": "the customer did not pay"}}

    def _post(self, path: str, body: object, *, wanted: str) -> None:
        said = json.dumps(body).encode()
        environ = {
            "REQUEST_METHOD": "POST", "PATH_INFO": path, "SERVER_NAME": "127.0.0.1", "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1",
            "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(said)), "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(said), "wsgi.errors": sys.stderr, "wsgi.version": (1, 0),
            "HTTP_AUTHORIZATION": f"Bearer {self._key}",
        }  # fmt: skip
        seen: list[str] = []
        answer = self._application(environ, lambda status, headers, error=None: seen.append(status))
        text = b"".join(answer)
        answer.close()
        assert seen[0].startswith(wanted), f"{seen[0]}: {text.decode()[:500]}"


def _nothing() -> None:
    pass


def counted(jobs: Jobs) -> dict[str, dict[str, float]]:
    """Return the calls of each path, and the statements it asks the database."""
    found = {}
    for name, (prepare, work, size) in jobs.paths.items():
        for _ in range(WARM_UP):
            prepare()
            work()
        calls = _calls_of(prepare, work)
        found[name] = {**calls.per(COUNTED * size)._asdict(), "statements": _statements_of(prepare, work) / size}
    return found


def _calls_of(prepare: Callable[[], object], work: Callable[[], object]) -> Calls:
    total = Calls(0, 0, 0, 0)
    for _ in range(COUNTED):
        prepare()
        with CallCounter() as counter:
            seen = counter.of(work)
        total = Calls(*map(sum, zip(total, seen, strict=True)))
    return total


def _statements_of(prepare: Callable[[], object], work: Callable[[], object]) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    prepare()
    with CaptureQueriesContext(connection) as queries:
        work()
    return sum(not query["sql"].startswith("PREPARE") for query in queries)


def main(words: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="delayhub-calls-") as folder, RedisServer() as server:
        database: Any = Database() if words[1] == "postgresql" else _File(Path(folder))
        try:
            # A line about each failed attempt costs calls, in whatever form it is logged.
            Rig(Path(folder), server, database, {"DELAYHUB_LOG_LEVEL": "ERROR"}).set_django_up()
            print(json.dumps(counted(Jobs())))
        finally:
            database.close()


class _File:
    """A database in a file of the folder."""

    pid = None

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder}/calls.sqlite3"

    def close(self) -> None:
        """The folder goes with its file."""


if __name__ == "__main__":
    main(sys.argv)
