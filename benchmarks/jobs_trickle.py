"""What jobs cost that come one by one, by this code or by other checkouts in turns: the part ``trickle`` of ``jobs``.

All of it is asked from outside: rows over REST, callbacks of the receiver, CPU time of the kernel. So today's program
measures any commit that creates jobs over REST; a checkout needs no more than an environment in ``.venv``. Each has a
PostgreSQL and a Redis of its own, a web server and a worker.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cores import pin, used_by_family
from benchmarks.figures import percentile
from benchmarks.jobs_cost import Processes
from benchmarks.jobs_rest import BULK, Api, WebServer, web_server
from benchmarks.jobs_rig import Rig, rig
from benchmarks.result import Result
from tests.repository import ROOT
from tests.waiting import wait_until

#: Makes tables, a biz type and a key by the code of a checkout, in words that all commits understand; prints the key.
PREPARE = """
import sys, django
django.setup()
from django.core.management import call_command
from tasksapp.models import BizType
call_command("migrate", verbosity=0)
BizType.objects.create(code="trickle", url=sys.argv[1], signing_secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
call_command("create_api_key", "trickle")
"""
#: Before what is measured, and after the last job was due: then all outcomes are written.
AROUND_SECONDS = 0.5
#: Creates are far away, so that only they are measured.
FAR_SECONDS = 2400


@dataclass
class Site:
    """The running processes of a checkout."""

    rig: Rig
    web: WebServer
    worker: Processes
    api: Api

    def cpu_seconds(self) -> Counter[str]:
        """What each has used so far."""
        return Counter(self.worker.cpu_seconds() | {"web server": used_by_family(self.web.pid)})

    def create(self, count: int, *, first: datetime, seconds: float = 0.0) -> None:
        """Creates jobs that are due evenly over so long.

        Raises:
            RuntimeError: it took longer than they had.
        """
        due = [first + timedelta(seconds=seconds * number / count) for number in range(count)]
        jobs = [job(number, due_at=at.isoformat()) for number, at in enumerate(due)]
        self.web.measure(self.api.bulk, [{"jobs": jobs[at : at + BULK]} for at in range(0, count, BULK)])
        if datetime.now(UTC) > first:  # noqa: TID251  compared with what other processes see
            raise RuntimeError(f"creating {count} jobs took longer than they had")

    def spent(self, seconds: float, work: Callable[[], object] = lambda: None) -> Counter[str]:
        """Seconds of CPU that each uses until the work is done, and at least for so long."""
        before, end = self.cpu_seconds(), time.monotonic() + seconds
        work()
        time.sleep(max(0.0, end - time.monotonic()))
        after = self.cpu_seconds()
        return Counter({name: after[name] - before[name] for name in after})


def job(number: int, **fields: object) -> dict[str, Any]:
    """The body of a create."""
    return {"biz_type": "trickle", "biz_id": f"order-{number}", "body": {"order": number}, **fields}


@contextmanager
def site(root: Path) -> Iterator[Site]:
    """All processes of a checkout; it has had a few jobs, so that everything is connected."""
    with rig(root=root, DELAYHUB_NEAR_WINDOW_SECONDS="3600") as made:
        pin(0)
        command = [made.python, "-c", PREPARE, f"http://127.0.0.1:{made.start_receiver()}/ok"]
        prepared = subprocess.run(command, cwd=root, env=made.environment, capture_output=True, text=True, check=False)
        if prepared.returncode:
            raise RuntimeError(f"{root} cannot be prepared: {prepared.stderr[-3000:]}")
        key = prepared.stdout.split()[-1]
        with web_server(made) as web, made.worker() as worker:
            found = Site(made, web, worker, Api(web.port, key))
            web.measure(found.api.single, [job(number, delay=0) for number in range(200)])
            wait_until(lambda: made.count_seen() >= 200, within_seconds=60, otherwise=made.count_seen)
            time.sleep(2.0)
            yield found


def measured(root: Path, asked: argparse.Namespace) -> dict[str, float]:
    """The figures of a checkout, each in µs of CPU for a job where it does not say otherwise."""
    with site(root) as running:
        found = {f"idle, {who}, ms/s": ms for who, ms in per(running.spent(asked.seconds), asked.seconds * 1000)}
        for rate in asked.trickle:
            found |= due(running, rate, asked.seconds)
        for rate in asked.creates:
            found |= creates(running, rate, asked.seconds)
        found |= as_many_as_go(running, max(asked.jobs // 10, 100))
        found |= burst(running, asked.jobs)
    return {name: round(value, 1) for name, value in found.items()}


def per(spent: Counter[str], count: float) -> list[tuple[str, float]]:
    """µs of each, for one of so many."""
    return [(who, seconds / count * 1e6) for who, seconds in sorted(spent.items())]


def due(running: Site, rate: int, seconds: float) -> dict[str, float]:
    """Jobs that are due one by one, so many a second."""
    made, count = running.rig, int(rate * seconds)
    made.forget_seen()
    first = datetime.now(UTC) + timedelta(seconds=ahead(count))  # noqa: TID251  what a caller says
    running.create(count, first=first, seconds=seconds)
    time.sleep(max(0.0, first.timestamp() - time.time() - AROUND_SECONDS))  # noqa: TID251  as above
    spent = running.spent(seconds + 2 * AROUND_SECONDS, lambda: wait_for(made, count))
    late = [one.lateness_ms for one in made.seen()]
    name = f"{rate}/s"
    return {
        **{f"{name}, {who}": us for who, us in per(spent, count)},
        f"{name}, late p50 ms": percentile(late, 0.5),
        f"{name}, late p99 ms": percentile(late, 0.99),
        f"{name}, early": float(sum(one < 0 for one in late)),
    }


def ahead(count: int) -> float:
    """Seconds in which so many can be created in bulks, also on a busy machine."""
    return 4 + count / 1_500


def wait_for(made: Rig, count: int) -> None:
    """Returns when the receiver has so many callbacks; it looks seldom, since that costs a core."""
    wait_until(lambda: made.count_seen() >= count, within_seconds=180, otherwise=made.count_seen, look_seconds=0.25)


def creates(running: Site, rate: int, seconds: float) -> dict[str, float]:
    """Single creates, so many a second, of jobs that are not due."""
    bodies = [job(number, delay=FAR_SECONDS) for number in range(int(rate * seconds))]
    spent = running.spent(seconds, lambda: running.web.measure(running.api.single, bodies, per_second=rate))
    who_works = ("PostgreSQL", "Redis", "web server")
    return {f"creates {rate}/s, {who}": us for who, us in per(spent, len(bodies)) if who in who_works}


def as_many_as_go(running: Site, count: int) -> dict[str, float]:
    """Creates over several connections, each of which waits for its answer: single ones, and in bulks."""
    bodies = [job(number, delay=FAR_SECONDS) for number in range(count)]
    single = running.web.measure(running.api.single, bodies)
    bulks = [{"jobs": (bodies * (BULK // count + 1))[:BULK]}] * max(10, count // BULK)
    many = running.web.measure(running.api.bulk, bulks)
    return {
        "creates, single, a second": count / single.seconds,
        "creates, single, web server": single.cpu_seconds / count * 1e6,
        "creates, bulks of 500, a second": len(bulks) * BULK / many.seconds,
        "creates, bulks of 500, web server": many.cpu_seconds / (len(bulks) * BULK) * 1e6,
    }


def burst(running: Site, count: int) -> dict[str, float]:
    """Jobs that are due at one moment."""
    running.rig.forget_seen()
    first = datetime.now(UTC) + timedelta(seconds=ahead(count))  # noqa: TID251  what a caller says
    running.create(count, first=first)
    time.sleep(max(0.0, first.timestamp() - time.time() - AROUND_SECONDS))  # noqa: TID251  as above
    spent = running.spent(2 * AROUND_SECONDS + count / 2_000, lambda: wait_for(running.rig, count))
    last = max(one.at_us for one in running.rig.seen()) / 1e6
    return {
        "burst, callbacks/s": count / (last - first.timestamp()),
        **{f"burst, {who}": us for who, us in per(spent, count)},
    }


def in_turns(asked: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The medians of other checkouts and of this one, by their commits; they take turns, so that drift meets all."""
    roots = [*(path.resolve() for path in asked.against), ROOT]
    rounds: dict[str, list[dict[str, float]]] = {commit_of(root): [] for root in roots}
    for number in range(asked.rounds):
        for root, of_root in zip(roots, rounds.values(), strict=True):
            began = time.monotonic()
            of_root.append(measured(root, asked))
            print(f"round {number + 1}, {root.name}, {time.monotonic() - began:.0f} s: {of_root[-1]}", flush=True)
    return {
        commit: {name: round(median(found.get(name, 0.0) for found in of_root), 1) for name in of_root[0]}
        for commit, of_root in rounds.items()
    }


def table(found: dict[str, dict[str, float]]) -> Result:
    """A column for each checkout, and how this code, which comes last, stands to each other one."""
    *others, (_, own) = found.items()
    shares = {
        f"now : {commit}": {name: round(own.get(name, 0.0) / value, 2) for name, value in figures.items() if value}
        for commit, figures in others
    }
    return Result({**found, **shares})


def commit_of(root: Path) -> str:
    """The commit that a checkout has; with ``+`` where its code has been edited."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    edited = git("status", "--porcelain", "delayhub", "tasksapp")
    return git("rev-parse", "--short", "HEAD") + "+" * bool(edited)
