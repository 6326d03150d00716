"""Is every effect made exactly once, although receivers and the worker are killed with -9?

Question: of jobs whose callbacks receivers take by ``delayhub.receiver``'s ``once``, how many effects are lost or made
    twice, while each receiver kills itself with -9 within its transactions and between commit and answer, and the
    worker is killed with -9 in the middle of deliveries? On Django with ATOMIC_REQUESTS, FastAPI with SQLAlchemy
    (async), and plain sqlite3.
Machine: whatever runs it: a whole site, one worker, three receivers with a SQLite file each.
Command: make chaos NAME=receivers
Result: a table and one JSON line; exit code 0 only if each job has exactly one effect at each receiver.
Caveat: the promise is for effects in the inbox's own database.
"""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.processes import kill_group, start
from benchmarks.result import Result, judged, option
from delayhub.client import Client, JobRequest
from delayhub.demo.demo import NO_BREAKER
from delayhub.demo.site import Site, SiteOptions
from delayhub.local.redis_server import free_port
from tests.acceptance.site import SHORT_LEASES
from tests.waiting import wait_until

KINDS = ("django", "fastapi", "sqlite")
POLL_SECONDS = 0.2
BULK = 500


class ChaosReceiver:
    """A receiver that kills itself, and is started again."""

    def __init__(self, kind: str, *, port: int, secret: str, folder: Path, deaths: float) -> None:
        self.kind, self.port, self.folder, self.deaths = kind, port, folder, 0
        self.database = folder / f"{kind}.sqlite3"
        self._environment = {"CHAOS_KIND": kind, "CHAOS_DATABASE": str(self.database), "CHAOS_DEATHS": str(deaths)}
        self._environment |= {"DELAYHUB_SECRET": secret}
        self._process = self._started()
        wait_until(self._answers, within_seconds=60, otherwise=f"{kind} that answers")

    def _started(self) -> subprocess.Popen[bytes]:
        granian = ["-m", "granian", "--interface", "asgi", "--no-ws", "--host", "127.0.0.1", "--port", str(self.port)]
        log = self.folder / f"{self.kind}.log"
        return start([*granian, "benchmarks.chaos_hooks:application"], log=log, **self._environment)

    def stop(self) -> None:
        kill_group(self._process)

    def revive(self) -> None:
        """Starts it again, where it has died."""
        if self._process.poll() is not None:
            self.deaths += 1
            self._process = self._started()

    def effects(self) -> Counter[str]:
        """How many effects each job has."""
        database = sqlite3.connect(self.database)
        try:
            return Counter(job for (job,) in database.execute("SELECT job FROM effect"))
        finally:
            database.close()

    def _answers(self) -> bool:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/hook", b"{}", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=1):
                return False
        except urllib.error.HTTPError as error:
            with error:
                return error.code == 401
        except OSError:
            return False


def secret_of_new_biz_type(api: Client, kind: str, port: int) -> str:
    """Makes the biz type of a receiver."""
    made = api.biz_types.create(
        kind,
        url=f"http://127.0.0.1:{port}/hook",
        max_attempts=1_000,
        backoff="fixed",
        backoff_min_seconds=1.0,
        jitter=1.0,
        # While a receiver is down, its jobs must not take all of the machine by being tried.
        max_in_flight=8,
    )
    return made.signing_secret or ""


def create_jobs(api: Client, kind: str, *, count: int, seconds: float) -> set[str]:
    """Creates so many jobs for a receiver, due over so many seconds; their ids."""
    requests = [
        JobRequest(biz_type=kind, biz_id=f"{kind}-{n}", body={"n": n}, delay=1 + seconds * n / count)
        for n in range(count)
    ]
    bulks = [requests[start : start + BULK] for start in range(0, count, BULK)]
    return {str(result.id) for bulk in bulks for result in api.jobs.create_many(bulk)}


def main(given: argparse.Namespace) -> Result:
    with (
        tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as name,
        Site(SiteOptions(data_dir=Path(name) / "site", settings={**NO_BREAKER, **SHORT_LEASES})) as site,
        Client(site.url, api_key=site.api_key) as api,
        ExitStack() as undo,
    ):
        receivers = []
        for kind in given.kinds:
            port = free_port()
            secret = secret_of_new_biz_type(api, kind, port)
            receivers.append(ChaosReceiver(kind, port=port, secret=secret, folder=Path(name), deaths=given.deaths))
            undo.callback(receivers[-1].stop)
        ids = set[str]()
        for kind in given.kinds:
            ids |= create_jobs(api, kind, count=given.jobs, seconds=given.seconds)
        figures = torment(site, api, receivers, jobs=len(ids), kills=given.kills, patience=given.patience)
        effects = {receiver.kind: receiver.effects() for receiver in receivers}
    figures["jobs"] = len(ids)
    figures["lost"] = len(ids - {job for counted in effects.values() for job in counted})
    figures["twice"] = sum(count > 1 for counted in effects.values() for count in counted.values())
    for kind, counted in effects.items():
        figures[f"effects in {kind}"] = sum(counted.values())
    some = ("jobs", *(f"{kind} killed" for kind in given.kinds))
    return Result(figures, figures["succeeded"] == len(ids) and judged(figures, none=("lost", "twice"), some=some))


def torment(
    site: Site, api: Client, receivers: Sequence[ChaosReceiver], *, jobs: int, kills: int, patience: float
) -> dict[str, int]:
    """Starts again what kills itself, and kills the worker evenly over the deliveries, until all jobs have ended."""
    deadline, killed = time.monotonic() + patience, 0
    while True:
        for receiver in receivers:
            receiver.revive()
        done = sum(sum(receiver.effects().values()) for receiver in receivers)
        if killed < kills and done >= jobs * (killed + 1) // (kills + 1):
            site.worker.kill()
            site.worker.launch()
            killed += 1
        if done >= jobs or time.monotonic() > deadline:
            ended = Counter(
                job.status for each in receivers for job in api.jobs.list(page_size=1000, biz_type=each.kind)
            )
            if ended["succeeded"] >= jobs or time.monotonic() > deadline:
                break
        time.sleep(POLL_SECONDS)
    return {
        "succeeded": ended["succeeded"],
        "worker killed": killed,
        **{f"{receiver.kind} killed": receiver.deaths for receiver in receivers},
    }


OPTIONS = [
    option("--jobs", 1_000, "jobs for each of the three receivers"),
    option("--seconds", 60.0, "over which they are due"),
    option("--kills", 8, "times the worker is killed with -9"),
    option("--deaths", 0.04, "share of works at which a receiver dies"),
    option("--kinds", KINDS, "the receivers", nargs="+", choices=KINDS),
    option("--patience", 600.0, "seconds until it gives up"),
]
