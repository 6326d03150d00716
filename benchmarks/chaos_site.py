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
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.children import run_main
from delayhub.demo.receiver import read_received
from delayhub.demo.report import FollowedJob
from delayhub.demo.scenario import plan
from delayhub.demo.site import Site, SiteOptions
from delayhub.engine import SystemClock
from tests.acceptance.site import SHORT_LEASES, create_on, wait_until_all_ended

DRAIN_SECONDS = 180.0
POLL_SECONDS = 0.2


class Chaos:
    """What is done to a site, in an order of chance, while its callbacks are delivered."""

    def __init__(self, site: Site, *, kills: int, wipes: int, seed: int) -> None:
        self.site = site
        self.done: Counter[str] = Counter()
        self.deeds: list[Callable[[], None]] = [self.kill_the_worker] * kills
        self.deeds += [self.wipe_redis] * wipes + [self.kill_redis] * wipes
        random.Random(seed).shuffle(self.deeds)

    def run(self, callbacks: int) -> None:
        """Does all of it, evenly over so many callbacks; one whose job has ended is done at once."""
        steps = len(self.deeds) + 1
        for number, deed in enumerate(self.deeds, 1):
            self._wait_for(callbacks * number // steps)
            deed()

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

    def _wait_for(self, callbacks: int) -> None:
        deadline = time.monotonic() + DRAIN_SECONDS
        while sum(1 for _ in read_received(self.site.folder.received)) < callbacks and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jobs", type=int, default=3_000, help="jobs created (default: 3000)")
    parser.add_argument("--seconds", type=float, default=60, help="over which they are due (default: 60)")
    parser.add_argument("--kills", type=int, default=10, help="times the worker is killed with -9 (default: 10)")
    parser.add_argument("--wipes", type=int, default=3, help="times Redis is wiped, and is killed (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="which order things are done in (default: 1)")
    parser.add_argument("--database", default="", help="URL of an empty database (default: a SQLite file)")
    given = parser.parse_args()
    settings = {**SHORT_LEASES, **({"DELAYHUB_DATABASE_URL": given.database} if given.database else {})}
    with (
        tempfile.TemporaryDirectory(prefix="delayhub-chaos-") as folder,
        Site(SiteOptions(data_dir=Path(folder), settings=settings)) as site,
    ):
        now = datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)
        created = create_on(site, plan(jobs=given.jobs, seconds=given.seconds, now=now, run="chaos"))
        chaos = Chaos(site, kills=given.kills, wipes=given.wipes, seed=given.seed)
        chaos.run(sum(job.attempts for job in created.values()))
        jobs = wait_until_all_ended(site, created, within_seconds=DRAIN_SECONDS)
    figures = judge(jobs)
    must_be_0 = set(figures) - {"jobs", "callbacks that came twice", "latest ms"}
    result = {"benchmark": "chaos_site", **figures, **chaos.done}
    for name, figure in result.items():
        print(f"{name:30}{figure!s:>12}")
    print(json.dumps(result))
    return 0 if all(figures[name] == 0 for name in must_be_0) else 1


if __name__ == "__main__":
    sys.exit(run_main(main))
