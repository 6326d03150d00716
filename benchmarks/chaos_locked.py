"""Does a web server go on answering while the table of jobs is locked, and is each create there once afterwards?

Question: while another connection locks all jobs (a migration, a backup), how long do probes wait, what are creates
    told, and how many jobs are missing or there twice after each refused create was sent again?
Machine: whatever runs it: one granian process of 16 threads, and a PostgreSQL of its own or a SQLite file.
Command: make chaos NAME=locked, or OPTIONS="--kind sqlite --seconds 10"
Result: a table and one JSON line; exit code 0 only if all creates were told to come again, each job is there once, and
    no probe took a second.
Caveat: client, server and database share the machine, so that a probe's time is also the time that it waits for a core.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sqlite3
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.jobs_rig import Database
from benchmarks.result import Result, option
from tests.web_server import BIZ_TYPE, asked, prepare_database, web_server

THREADS, SLOTS = 16, 12
#: A probe may take so long.
BOUND_SECONDS = 1.0


@dataclass
class Seen:
    """What clients saw while the lock was held."""

    creates: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    without_retry_after: int = 0
    slowest_create: float = 0.0
    probes: dict[str, list[float]] = field(default_factory=lambda: {"/livez": [], "/readyz": []})
    said: Counter[str] = field(default_factory=Counter)


def create(port: int, key: str, seen: Seen) -> None:
    """One create; where it is refused, its key is kept."""
    began = time.monotonic()
    body: dict[str, Any] = {"biz_type": BIZ_TYPE, "delay": 3600, "biz_id": key}
    if key.endswith(tuple("02468")):
        body["idempotency_key"] = key  # half of them: these wait a second for the key, the others for the job
    answer = asked(port, "POST", "/jobs", body)
    seen.slowest_create = max(seen.slowest_create, time.monotonic() - began)
    seen.creates[answer.json["code"] if answer.status >= 400 else str(answer.status)] += 1
    if answer.status >= 400:
        seen.refused.append(key)
        seen.without_retry_after += "Retry-After" not in answer.headers


def probe(port: int, path: str, seen: Seen, stop: threading.Event) -> None:
    """Asks again and again, as a load balancer does."""
    while not stop.wait(0.25):
        began = time.monotonic()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            found = {"database": f"HTTP {error.code}"}
        seen.probes[path].append(time.monotonic() - began)
        if "database" in found:
            seen.said[found["database"]] += 1


@contextlib.contextmanager
def locked(url: str, file: Path) -> Iterator[None]:
    """Another connection has all jobs for itself."""
    if not url:
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as own:
            own.execute("BEGIN EXCLUSIVE")
            yield
        return
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE delayhub_job IN ACCESS EXCLUSIVE MODE")
        yield
        other.rollback()


def count_jobs(url: str, file: Path) -> Counter[str]:
    """How many jobs each biz id has."""
    statement = "SELECT biz_id, count(*) FROM delayhub_job GROUP BY biz_id"
    if not url:
        with contextlib.closing(sqlite3.connect(file)) as own:
            return Counter(dict(own.execute(statement).fetchall()))
    with psycopg.connect(url) as other:
        return Counter(dict(other.execute(statement).fetchall()))


def run(port: int, url: str, file: Path, *, seconds: float, rate: float) -> dict[str, Any]:
    """The figures of one lock."""
    seen, stop = Seen(), threading.Event()
    create(port, "before", seen)
    probes = [threading.Thread(target=probe, args=[port, path, seen, stop]) for path in seen.probes]
    keys = [f"create-{number}" for number in range(round(seconds * rate))]
    with locked(url, file):
        with ThreadPoolExecutor(max_workers=200) as clients:
            for each in probes:
                each.start()
            began = time.monotonic()
            for number, key in enumerate(keys):
                time.sleep(max(0.0, began + number / rate - time.monotonic()))
                clients.submit(create, port, key, seen)
        stop.set()
        for each in probes:
            each.join()
    again = Seen()
    for key in seen.refused:
        create(port, key, again)
    made = count_jobs(url, file)
    return {
        "creates": len(keys),
        "answers": dict(seen.creates),
        "without Retry-After": seen.without_retry_after,
        "slowest create s": round(seen.slowest_create, 2),
        "sent again": dict(again.creates),
        "lost": sum(made[key] == 0 for key in keys),
        "twice": sum(made[key] > 1 for key in keys),
        "probes": sum(map(len, seen.probes.values())),
        "slowest /livez s": round(max(seen.probes["/livez"]), 2),
        "slowest /readyz s": round(max(seen.probes["/readyz"]), 2),
        "probes over a second": sum(took > BOUND_SECONDS for times in seen.probes.values() for took in times),
        "/readyz says": dict(seen.said),
    }


def main(given: argparse.Namespace) -> Result:
    with tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as name, contextlib.ExitStack() as stack:
        folder, url = Path(name), ""
        if given.kind == "postgresql":
            url = stack.enter_context(contextlib.closing(Database())).url
        variables = {
            "DELAYHUB_WEB_LOCK_SECONDS": str(given.lock_seconds),
            "DELAYHUB_REQUEST_SLOTS": str(SLOTS),
            **({"DELAYHUB_DATABASE_URL": url} if url else {}),
        }
        prepare_database(folder, **variables)
        port = stack.enter_context(web_server(folder, threads=THREADS, **variables))
        figures = run(port, url, folder / "delayhub.sqlite3", seconds=given.seconds, rate=given.rate)
    refused = sum(count for code, count in figures["answers"].items() if code in {"busy", "database_locked"})
    is_good = refused == figures["creates"] and not any(
        figures[title] for title in ("without Retry-After", "lost", "twice", "probes over a second")
    )
    return Result({"kind": given.kind, **figures}, is_good)


OPTIONS = [
    option("--kind", "postgresql", choices=["postgresql", "sqlite"]),
    option("--seconds", 60.0, "for which the lock is held"),
    option("--rate", 40.0, "creates a second"),
    option("--lock-seconds", 3, "WEB_LOCK_SECONDS"),
]
