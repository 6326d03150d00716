"""A site that runs on keeps what it uses: descriptors, threads, memory, connections and Redis keys stay bounded.

By day for a minute, with each ability in use and without the garbage collector, so that what is left in a reference
cycle shows at once. By night three sites for ten minutes each, or ``DELAYHUB_RESOURCES_SECONDS``.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
import redis

from delayhub.demo.samples import CLOSE_ORDER, PUSH_INVOICE
from delayhub.demo.site import SiteOptions
from tests.kept_folder import PreparedSite
from tests.own_postgres import OwnPostgres

NIGHTLY_SECONDS = float(os.environ.get("DELAYHUB_RESOURCES_SECONDS", "600"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(NIGHTLY_SECONDS + 600)]

DAY_SECONDS = 40.0
#: Until each ability was used, and pools and caches have what they keep.
WARM_UP_SECONDS = 16.0
PULLED = "resources.pulled"


@dataclass(frozen=True)
class Used:
    """What a site uses at a moment, all of its processes together."""

    descriptors: int
    threads: int
    megabytes: float
    redis_connections: int
    redis_keys: int
    database_connections: int

    def __sub__(self, other: Used) -> dict[str, float]:
        return {field.name: getattr(self, field.name) - getattr(other, field.name) for field in fields(Used)}


#: How much more of each a site may use at the end than at the beginning.
MOST_GROWTH = Used(
    descriptors=8, threads=4, megabytes=40.0, redis_connections=6, redis_keys=60, database_connections=4
)  # fmt: skip


class MeasuredSite(PreparedSite):
    """A site on PostgreSQL whose servers may run without the garbage collector."""

    def __init__(self, folder: Path, database: str, *, collects: bool) -> None:
        owner = "http://127.0.0.1:1/alerts"  # nothing listens: each message is tried again
        super().__init__(
            SiteOptions(data_dir=folder, settings={"DELAYHUB_DATABASE_URL": database, "DELAYHUB_OWNER_URL": owner})
        )
        self._collects = collects

    @cached_property
    def environment(self) -> dict[str, str]:
        without = {} if self._collects else {"DELAYHUB_TESTS_COLLECT": "never"}
        return {**super().environment, **without}

    def processes(self) -> Iterator[psutil.Process]:
        """Web server and worker, with their children."""
        for service in (self.web, self.worker):
            main = psutil.Process(service.pid)
            yield from (main, *main.children(recursive=True))

    def used(self, client: redis.Redis, database: psycopg.Connection[Any]) -> Used:
        """What it uses now."""
        processes = list(self.processes())
        [[connections]] = database.execute("SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL").fetchall()
        return Used(
            descriptors=sum(process.num_fds() for process in processes),
            threads=sum(process.num_threads() for process in processes),
            megabytes=sum(process.memory_info().rss for process in processes) / 1_000_000,
            redis_connections=len(client.client_list()),
            redis_keys=client.dbsize(),
            database_connections=connections,
        )


class Caller:
    """Uses one ability of a site after the other.

    Args:
        site: a site that runs.
    """

    def __init__(self, site: MeasuredSite) -> None:
        self._site = site
        self._numbers = itertools.count()
        headers = {"authorization": f"Bearer {site.api_key}"}
        self._http = httpx.Client(base_url=f"{site.url}/api/v1", headers=headers, timeout=20)
        self.answers: dict[str, int] = {}

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def ask(self, method: str, path: str, body: object = None, *, expects: Sequence[int] = (200,)) -> Any:
        """Send a request; return the document that answers it."""
        answer = self._http.request(method, path, json=body)
        assert answer.status_code in expects, (method, path, answer.status_code, answer.text[:500])
        self.answers[path.partition("?")[0]] = answer.status_code
        return answer.json() if answer.headers.get("content-type", "").endswith("json") else None

    def create(self, biz_type: str, **given: object) -> Any:
        """Create a job that is due at once."""
        number = next(self._numbers)
        body = {"biz_type": biz_type, "biz_id": f"r-{number}", "delay": 0, "body": {"number": number}, **given}
        return self.ask("POST", "/jobs", body, expects=[201])

    # ------------------------------------------------------------ abilities

    def prepare(self) -> None:
        """Store what the abilities are about: a biz type that is pulled, and a series."""
        self.ask("POST", "/biz-types", {"code": PULLED, "target": "pull"}, expects=[201])
        self.ask("POST", "/series", {"biz_type": CLOSE_ORDER.code, "name": "often", "every": 10}, expects=[201])

    def health(self) -> None:
        """Ask what monitors ask."""
        self.ask("GET", "/health")
        for probe in ("/livez", "/readyz", "/metrics"):
            answer = self._http.get(f"{self._site.url}{probe}")
            assert answer.status_code == (200 if probe != "/metrics" else answer.status_code), answer.text

    def call_back(self) -> None:
        """Let a job be delivered, and wait for its end."""
        job = self.create(CLOSE_ORDER.code)
        self.ask("GET", f"/jobs/{job['id']}?wait=2")

    def many(self) -> None:
        """Create a bulk, whose flow keys take turns."""
        jobs = [{"biz_type": CLOSE_ORDER.code, "delay": 0, "flow_key": f"key-{key % 3}"} for key in range(20)]
        self.ask("POST", "/jobs/bulk", {"jobs": jobs}, expects=[201])

    def change(self) -> None:
        """Move a job and cancel it."""
        job = self.create(CLOSE_ORDER.code, delay=3_600)
        self.ask("PATCH", f"/jobs/{job['id']}", {"delay": 7_200})
        self.ask("POST", f"/jobs/{job['id']}/cancel", {})

    def pull(self) -> None:
        """Claim a job and end it."""
        self.create(PULLED)
        for claim in self.ask("POST", "/claims", {"biz_types": [PULLED], "wait": 1})["claims"]:
            self.ask("POST", f"/claims/{claim['token']}/done", {})

    def die(self) -> None:
        """Let a job fail, which is retried, dies, and is told to the owner."""
        self.create(PUSH_INVOICE.code)

    def operate(self) -> None:
        """Plan an operation over dead jobs, and start the one before."""
        for operation in self.ask("GET", "/operations")["results"]:
            if operation["state"] == "planned":
                self.ask("POST", f"/operations/{operation['id']}/start", {}, expects=[200, 409])
        wanted = {"verb": "drop", "filter": {"biz_type": PUSH_INVOICE.code}}
        self.ask("POST", "/operations", wanted, expects=[201])

    def export(self) -> None:
        """Read an export to its end."""
        with self._http.stream("GET", "/jobs/export?status=succeeded") as answer:
            assert answer.status_code == 200
            assert sum(len(chunk) for chunk in answer.iter_bytes()) >= 0

    def look(self) -> None:
        """Ask for lists and numbers, and ask the worker whether it lives."""
        for path in ("/jobs", "/stats", "/issues", "/audit", "/jobs/dead", "/series", f"/biz-types/{CLOSE_ORDER.code}"):
            self.ask("GET", path)
        self._site._worker_answers()

    @property
    def abilities(self) -> list[Callable[[], None]]:
        """Each of them."""
        return [
            self.health, self.call_back, self.many, self.change, self.pull, self.die, self.operate, self.export,
            self.look,
        ]  # fmt: skip


def run(each: Sequence[Callable[[], None]], *, seconds: float, pause: float, look: Callable[[], None]) -> None:
    """Call one after the other, with pauses, for so long; ``look`` is called every two seconds."""
    began = looked = time.monotonic()
    for call in itertools.cycle(each):
        if time.monotonic() - began > seconds:
            return
        call()
        if time.monotonic() - looked > 2:
            looked = time.monotonic()
            look()
        time.sleep(pause)


def least(samples: Sequence[Used]) -> Used:
    """The least of each: what is in use for a moment only does not count."""
    return Used(*(min(getattr(sample, field.name) for sample in samples) for field in fields(Used)))


def growth(samples: Sequence[Used]) -> dict[str, float]:
    """How much more of each is in use in the last third than in the first."""
    third = len(samples) // 3
    assert third >= 2
    return least(samples[-third:]) - least(samples[:third])


@contextmanager
def measured(folder: Path, *, collects: bool) -> Iterator[tuple[Caller, Callable[[], None], list[Used]]]:
    """A site that runs, what calls it, and what looks at it."""
    postgres, samples = OwnPostgres(), []
    try:
        with MeasuredSite(folder, postgres.url, collects=collects) as site, site.redis.client() as client:
            caller = Caller(site)
            with psycopg.connect(postgres.url, autocommit=True) as database:
                yield caller, lambda: samples.append(site.used(client, database)), samples
            caller.close()
    finally:
        with suppress(Exception):
            postgres.close()


def judge(samples: Sequence[Used]) -> None:
    """Fail where something grows."""
    found, most = growth(samples), {field.name: getattr(MOST_GROWTH, field.name) for field in fields(Used)}
    over = {name: more for name, more in found.items() if more > most[name]}
    assert not over, f"a site grows by {over} in a run; first and last: {samples[0]}, {samples[-1]}"


def test_a_site_that_uses_each_ability_does_not_grow_within_a_minute(tmp_path: Path) -> None:
    with measured(tmp_path / "site", collects=False) as (caller, look, samples):
        caller.prepare()
        run(caller.abilities, seconds=WARM_UP_SECONDS, pause=0.3, look=lambda: None)
        run(caller.abilities, seconds=DAY_SECONDS, pause=0.7, look=look)

    judge(samples)


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["idle", "busy", "abilities"])
def test_a_site_does_not_grow_in_a_long_run(tmp_path: Path, how: str) -> None:
    with measured(tmp_path / "site", collects=True) as (caller, look, samples):
        caller.prepare()
        calls = {"idle": [caller.health], "busy": [caller.many, caller.call_back], "abilities": caller.abilities}[how]
        run(caller.abilities, seconds=3 * WARM_UP_SECONDS, pause=0.1, look=lambda: None)
        run(calls, seconds=NIGHTLY_SECONDS, pause=2.0 if how == "idle" else 0.1, look=look)

    judge(samples)
