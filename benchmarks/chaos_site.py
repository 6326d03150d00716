"""Does every job end as it must when workers and Redis are killed, and Redis forgets everything?

Question: of jobs that are created by REST (some are cancelled, some moved, some fail twice, some always), how many are
    lost, delivered after they were cancelled, early, or in a wrong status in the end, while the worker is killed with
    -9, Redis is killed and restarted, and all of Redis is wiped?
Machine: whatever runs it: a whole site, with one worker and a receiver that keeps its own log.
Command: make chaos NAME=site (the site's SQLite; another database: --database postgresql://...)
Result: a table and one JSON line; exit code 0 only if nothing was lost, wrong or early.
Caveat: at least once: a callback that was under way when its worker was killed may come twice. Those are counted.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.processes import is_soon
from benchmarks.result import Result, option
from delayhub.demo.receiver import read_received
from delayhub.demo.report import FollowedJob
from delayhub.demo.scenario import plan
from delayhub.demo.site import Site, SiteOptions
from delayhub.engine import SystemClock
from tests.acceptance.site import SHORT_LEASES, create_on, wait_until_all_ended

DRAIN_SECONDS = 180.0
POLL_SECONDS = 0.2

Deed = Callable[[], None]
#: By their ids.
Created = Mapping[str, Any]


def under_deeds(site: Site, created: Created, deeds: Sequence[Deed]) -> tuple[dict[str, int], bool]:
    """Does all of it, evenly over the callbacks; what became of the jobs, and whether it is as it must be.

    A deed whose jobs have ended before is done at once.
    """
    callbacks = sum(job.attempts for job in created.values())
    for number, deed in enumerate(deeds, 1):
        wanted = callbacks * number // (len(deeds) + 1)
        is_soon(
            lambda wanted=wanted: sum(1 for _ in read_received(site.folder.received)) >= wanted,
            within_seconds=DRAIN_SECONDS,
            look_seconds=POLL_SECONDS,
        )
        deed()
    found = judge(wait_until_all_ended(site, created, within_seconds=DRAIN_SECONDS))
    must_be_0 = set(found) - {"jobs", "callbacks that came twice", "latest ms"}
    return found, not any(found[name] for name in must_be_0)


class Kills:
    """What is done to a site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.done: Counter[str] = Counter()

    def kill_the_worker(self) -> None:
        """kill -9 in the middle of deliveries; another worker takes its place."""
        self.done["worker killed"] += 1
        self.site.worker.kill()
        self.site.worker.launch()

    def wipe_redis(self) -> None:
        """Redis forgets every timer."""
        self.done["Redis wiped"] += 1
        with self.site.redis.client() as client:
            client.flushall()

    def kill_redis(self) -> None:
        """A power cut of Redis."""
        self.done["Redis killed"] += 1
        self.site.redis.kill()
        self.site.redis.start()


def judge(jobs: list[FollowedJob]) -> dict[str, int]:
    """The figures of a run."""
    late = [job.lateness_ms for job in jobs if job.lateness_ms is not None]
    cancelled = [job for job in jobs if job.planned.final_status == "cancelled"]
    return {
        "jobs": len(jobs),
        "callbacks that came twice": sum(max(0, len(job.callbacks) - job.planned.attempts) for job in jobs),
        "lost": sum(len(job.callbacks) < job.planned.attempts for job in jobs),
        "wrong status": sum(job.status != job.planned.final_status for job in jobs),
        "delivered though cancelled": sum(bool(job.callbacks) for job in cancelled),
        "succeeded, receiver says no": sum(job.status == "succeeded" and not job.delivered for job in jobs),
        "wrong signatures": sum(not callback.verified for job in jobs for callback in job.callbacks),
        "early": sum(value < 0 for value in late),
        "latest ms": max(late, default=0),
    }


def main(given: argparse.Namespace) -> Result:
    settings = {**SHORT_LEASES, **({"DELAYHUB_DATABASE_URL": given.database} if given.database else {})}
    with (
        tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as folder,
        Site(SiteOptions(data_dir=Path(folder), settings=settings)) as site,
    ):
        now = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)
        created = create_on(site, plan(jobs=given.jobs, seconds=given.seconds, now=now, run="chaos"))
        kills = Kills(site)
        deeds: list[Deed] = [kills.kill_the_worker] * given.kills
        deeds += [kills.wipe_redis, kills.kill_redis] * given.wipes
        random.Random(given.seed).shuffle(deeds)
        found, good = under_deeds(site, created, deeds)
    return Result({**found, **kills.done}, good)


OPTIONS = [
    option("--jobs", 3_000, "jobs created"),
    option("--seconds", 60.0, "over which they are due"),
    option("--kills", 10, "times the worker is killed with -9"),
    option("--wipes", 3, "times Redis is wiped, and is killed"),
    option("--seed", 1, "which order things are done in"),
    option("--database", "", "URL of an empty database"),
]
