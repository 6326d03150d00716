"""Do a task's ``rate_limit`` and another's ``max_in_flight`` hold over all workers while these are killed?

Question: a task with ``rate_limit`` and one with ``max_in_flight``, both with a backlog, other tasks published all the
    while (one of 25 takes 3 s), four workers (two prefork, threads, solo), one of them killed with -9 every few seconds
    and started again: how many starts are in the fullest second, and how many in all; how many of the second run at
    once, at most; how late do the others start, beside a run without the backlogs; does each task run? And what does a
    claim cost beside 100 000 tasks with parked messages? With --early-acks the second task is acknowledged when it
    starts: does it never run twice, how many do kills lose, and is nothing held in the end?
Machine: whatever runs it.
Command: make chaos NAME=limits
Result: a table and one JSON line; exit code 0 only if no second had more starts than the limit and one, no more ran at
    once than may, all others had no less than the limit less one and what the kills took, and each task ran. With
    --only-backlog, for busy machines, seconds count by what Redis let start in them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.children import run_main
from benchmarks.permits import Permits, most_in_a_second
from delayhub.celery_support.backlog import backlogs
from delayhub.engine import DelayQueue, Entry
from delayhub.engine.limits import DECLARED, Limit, flying_counts, set_limits
from delayhub.local.redis_server import RedisServer

POOLS = (("prefork", 4), ("prefork", 2), ("threads", 4), ("solo", 1))
#: How many of the task with ``max_in_flight`` run at once, and how many of it there are for each second of the run.
AT_ONCE, REPORTS = 2, 3
#: Other tasks published a second, each of which takes so long; every SLOW_EVERY-th takes SLOW_SECONDS.
OTHERS, OTHER_SECONDS, SLOW_EVERY, SLOW_SECONDS = 20, 0.02, 25, 3.0
#: Seconds that a report takes at least, as the shop has it: so long a run counts that was killed.
REPORT_LASTS = 0.3
#: Seconds that the workers have for their start, beside those of the run.
START_SECONDS = 3.0


class Workers:
    """The workers of a run, four by default."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *, pools: Sequence[tuple[str, int]] = POOLS
    ) -> None:
        self.folder = folder
        self.pools = pools
        self.environment = {**os.environ, **environment}
        self.environment.pop("DJANGO_SETTINGS_MODULE", None)  # this is a Celery app without Django
        self.alive = [self._start(number) for number in range(len(pools))]

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        pool, size = self.pools[number]
        command = [sys.executable, "-m", "celery", "-A", "benchmarks.limits_shop", "worker"]
        command += ["-P", pool, "-c", str(size), "-n", f"w{number}@here", "-l", "WARNING"]
        command += ["--without-gossip", "--without-mingle"]
        log = (self.folder / f"worker{number}.log").open("ab")
        return subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)

    def kill(self, number: int) -> None:
        """Kills a worker with all its processes, and starts it again."""
        os.killpg(self.alive[number].pid, 9)
        self.alive[number].wait()
        self.alive[number] = self._start(number)

    def stop(self) -> None:
        """Kills all of them."""
        for process in self.alive:
            os.killpg(process.pid, 9)
            process.wait()


def run(
    folder: Path,
    *,
    rate: int,
    seconds: int,
    kill_every: float,
    backlog: int,
    seed: int,
    early_acks: bool = False,
    lease: float = 3.0,
) -> dict[str, float]:
    """The figures of one run."""
    folder.mkdir()
    chance = random.Random(seed)
    with (
        RedisServer(append_only=False) as server,
        server.client(socket_timeout=None) as client,
        Permits(client, queue="celery", task="limits.mail") as permits,
    ):
        environment = {
            "LIMITS_BROKER": f"delayhub://127.0.0.1:{server.port}/0",
            "LIMITS_FOLDER": str(folder),
            "LIMITS_RATE": f"{rate}/s",
            "LIMITS_AT_ONCE": str(AT_ONCE),
            "LIMITS_ACK": "early" if early_acks else "late",
            "LIMITS_LEASE": str(lease),
        }
        os.environ.update(environment)
        from benchmarks import limits_shop

        workers = Workers(folder, environment)
        reports = REPORTS * seconds if backlog else 0
        published: dict[int, float] = {}
        kills: list[float] = []
        try:
            with limits_shop.app.connection_for_write(environment["LIMITS_BROKER"]) as connection:
                for number in range(backlog):
                    limits_shop.mail.apply_async([number], connection=connection)
                for number in range(reports):
                    limits_shop.report.apply_async([number], connection=connection)
                begin = time.time()  # noqa: TID251  compared with what the tasks wrote
                next_kill, number = begin + kill_every, 0
                while (now := time.time()) < begin + seconds + START_SECONDS:  # noqa: TID251  as above
                    pause = SLOW_SECONDS if number % SLOW_EVERY == 0 else OTHER_SECONDS
                    published[number] = now
                    limits_shop.work.apply_async([number, pause], connection=connection)
                    number += 1
                    if kill_every and now >= next_kill:
                        workers.kill(chance.randrange(len(POOLS)))
                        kills.append(now)
                        next_kill += kill_every
                    time.sleep(max(0.0, begin + number / OTHERS - time.time()))  # noqa: TID251  as above
                deadline = time.monotonic() + backlog / rate * 2 + 60
                done = "report" if early_acks else "reported"
                while not _all_ran(folder, backlog, len(published), reports, done) and time.monotonic() < deadline:
                    time.sleep(0.5)
                held = held_at_the_end(server, deadline) if early_acks else 0
                healed = backlogs(client, [DelayQueue(client, "celery")])["celery"].healed
        finally:
            workers.stop()
    found = _figures(folder, published, kills, rate=rate, backlog=backlog, reports=reports, lease=lease)
    found |= {"permits": len(permits.times), "most permits in a second": most_in_a_second(permits.times)}
    found["put right"] = healed
    if early_acks:
        numbers = [number for number, _ in starts(folder, "report")]
        found |= {
            "never run": found["never run"] + len({n for n, _ in starts(folder, "reported")}) - len(set(numbers)),
            "lost to kills": len(set(numbers)) - len({n for n, _ in starts(folder, "reported")}),
            "run twice": len(numbers) - len(set(numbers)),
            "held at the end": held,
        }
    return found


def held_at_the_end(server: RedisServer, deadline: float, *, task: str = "") -> int:
    """How many messages are held, and count among those that run, once all have ended, or at the deadline.

    Of one task and its flow keys only those that count, where it is named: others may go on.
    """
    with server.client() as client:
        queue = DelayQueue(client, "celery")
        while (held := _held(queue, task)) and time.monotonic() < deadline:
            time.sleep(0.5)
    return held


def _held(queue: DelayQueue, task: str) -> int:
    flying = sum(count for name, count in flying_counts(queue).items() if name.startswith(task))
    return flying + (0 if task else queue.count().leased)


def starts(folder: Path, name: str) -> list[tuple[int, float]]:
    """The number and the time of each line of a file of the run."""
    path = folder / name
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(number), float(at)) for number, at in (line.split() for line in lines)]


def _all_ran(folder: Path, backlog: int, others: int, reports: int, done: str) -> bool:
    return (
        len({n for n, _ in starts(folder, "mail")}) == backlog
        and len({n for n, _ in starts(folder, done)}) == reports
        and len({n for n, _ in starts(folder, "work")}) == others
    )


def starts_a_second(folder: Path) -> int:
    """The most starts of the task with ``rate_limit`` in any second."""
    return most_in_a_second(sorted(at for _, at in starts(folder, "mail")))


def most_at_once(folder: Path, name: str = "report", *, lasts_at_most: float = 2.5) -> int:
    """How many of the task with ``max_in_flight`` ran at once; a run that was killed counts for its usual time.

    The lease of a run that was killed ends after 3 s, so an end that comes later is that of another run.
    """
    ends: dict[int, list[float]] = {}
    for number, at in starts(folder, f"{name}ed"):
        ends.setdefault(number, []).append(at)
    changes: list[tuple[float, int]] = []
    for number, at in starts(folder, name):
        ended = [end for end in ends.get(number, []) if at < end < at + lasts_at_most]
        changes += [(at, 1), (min(ended, default=at + REPORT_LASTS), -1)]
    running = most = 0
    for _, by in sorted(changes):
        running += by
        most = max(most, running)
    return most


def _figures(
    folder: Path,
    published: Mapping[int, float],
    kills: list[float],
    *,
    rate: int,
    backlog: int,
    reports: int,
    lease: float,
) -> dict[str, float]:
    mails = sorted(at for _, at in starts(folder, "mail"))
    first: dict[int, float] = {}
    for number, at in starts(folder, "work"):
        first[number] = min(at, first.get(number, at))
    late = sorted(1000 * (at - published[number]) for number, at in first.items())
    found: dict[str, float] = {
        "limit a second": rate,
        "kills": len(kills),
        "never run": backlog
        - len({n for n, _ in starts(folder, "mail")})
        + len(published)
        - len(first)
        + reports
        - len({n for n, _ in starts(folder, "reported")}),
        "may run at once": AT_ONCE,
        # A lease is renewed when a third of it has passed, so what is left of it is more than this.
        "most at once": most_at_once(folder, lasts_at_most=lease / 2),
        "reports": reports,
        "others": len(first),
        "others late p50 ms": round(statistics.median(late), 1),
        "others late p99 ms": round(late[int(len(late) * 0.99)], 1),
    }
    if mails:
        # Until the backlog ends there is always one to start; the last seconds are not whole.
        inner = [at for at in mails if mails[0] + 1.0 <= at <= mails[-1] - 1.0]
        whole = int(inner[-1] - inner[0])
        seconds = [bisect_left(mails, inner[0] + n + 1) - bisect_left(mails, inner[0] + n) for n in range(whole)]
        found |= {
            "starts": len(mails),
            "most starts in a second": most_in_a_second(mails),
            "starts a second": round((len(inner) - 1) / (inner[-1] - inner[0]), 3),
            "fewest in a second": min(seconds),
            "seconds below the limit less one": sum(count < rate - 1 for count in seconds),
            "seconds": whole,
        }
    return found


def cost(keys: int) -> dict[str, float]:
    """What Redis' CPU a claim of 20 costs beside so many tasks with parked messages, and what these take."""
    found: dict[str, float] = {"tasks with parked messages": keys}
    with RedisServer(append_only=False) as server, server.client() as client:
        queue = DelayQueue(client, "q")
        found["µs, claim of 20, no limits"] = claims(queue)
        set_limits(queue, DECLARED, {"bench.limited": Limit(10**13)})
        found["µs, claim of 20, limits"] = claims(queue)
        for count, each in ((keys, 1), (keys // 20, 20)):
            tasks = [f"bench.task{each}.{number}" for number in range(count)]
            for start in range(0, count, 500):
                set_limits(queue, DECLARED, dict.fromkeys(tasks[start : start + 500], Limit(10**13)))
            queue.schedule(
                [
                    Entry(f"{task}-{n}", payload=b'{"headers":{"task":"%s"}}' % task.encode())
                    for n in range(each)
                    for task in tasks
                ]
            )
            began, worst = cpu_us(client), 0.0
            while queue.count().ready:
                call = cpu_us(client)
                queue.claim(100, free=0)
                worst = max(worst, cpu_us(client) - call)
            found[f"µs, to park a message, {each} a task"] = round((cpu_us(client) - began) / (count * each), 2)
            found[f"ms, worst call, {each} a task"] = round(worst / 1000, 2)
            found[f"bytes, a parked message, {each} a task"] = round(_bytes(client, queue, tasks) / each, 1)
        found["µs, claim of 20, beside all these"] = claims(queue)
    return found


def claims(queue: DelayQueue) -> float:
    client, used = queue.client, list[float]()
    for _ in range(9):
        queue.schedule([Entry(f"free{n}", payload=b'{"headers":{"task":"bench.other"}}') for n in range(2000)])
        began = cpu_us(client)
        for _ in range(100):
            leases = [queue.lease(entry.id, entry.token) for entry in queue.claim(20, free=0).entries]
            queue.acknowledge(leases)
        used.append((cpu_us(client) - began) / 100)
    return round(min(used), 1)


def cpu_us(client: Any) -> float:
    """The server's CPU time so far; that of its scripts by the clock would count what other programs take."""
    used = client.info("cpu")
    return 1e6 * (float(used["used_cpu_user_main_thread"]) + float(used["used_cpu_sys_main_thread"]))


def _bytes(client: Any, queue: DelayQueue, tasks: list[str]) -> float:
    keys = [queue.keys.parked_by(task) for task in tasks[:1000]]
    of_sets = sum(client.memory_usage(key) or 0 for key in keys) / len(keys)
    return float(of_sets + (client.memory_usage(queue.keys.open, samples=0) or 0) / len(queue.parking_tasks()))


def main() -> int:
    """Runs it with a backlog and without, and shows both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kill-every", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only-backlog", action="store_true", help="without the run to compare with")
    parser.add_argument("--early-acks", action="store_true", help="of the task of which only so many run at once")
    parser.add_argument("--lease", type=float, default=3.0, help="seconds after which what was killed runs again")
    parser.add_argument("--keys", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = {}
        for name, backlog in (("no backlog", 0), ("backlog", options.rate * options.seconds)):
            if backlog or not options.only_backlog:
                runs[name] = run(
                    Path(folder) / name.replace(" ", "-"),
                    rate=options.rate,
                    seconds=options.seconds,
                    kill_every=options.kill_every,
                    backlog=backlog,
                    seed=options.seed,
                    early_acks=options.early_acks,
                    lease=options.lease,
                )
    for name in runs["backlog"]:
        print(f"{name:36}" + "".join(f"{of_run.get(name, ''):>14}" for of_run in runs.values()))
    runs["cost"] = cost(options.keys)
    for name, value in runs["cost"].items():
        print(f"{name:40}{value:>14}")
    print(json.dumps(runs))
    found = runs["backlog"]
    holds = (
        found["never run"] == 0
        and found["put right"] == 0
        # By Redis' clock, so this is the same on a busy machine. A start without a permit would not be among them.
        and found["most permits in a second"] <= options.rate + 1
        and found["permits"] >= found["starts"]
        # A task notes its start late where the machine is busy. But each process has one at most that was let start and
        # has not noted it: only free processes get any.
        and found["most starts in a second"] <= options.rate + 1 + sum(size for _, size in POOLS)
        and found["most at once"] <= AT_ONCE
    )
    steady = (
        found["most starts in a second"] <= options.rate + 1
        and not (found.get("run twice", 0) or found.get("held at the end", 0))
        # Of each killed worker, at most what ran at once.
        and found.get("lost to kills", 0) <= AT_ONCE * found["kills"]
        # A worker that is killed takes the permits of what it was about to start, and some seconds of its processes.
        and found["seconds below the limit less one"] <= 2 * found["kills"]
    )
    # The little run is for machines that are busy with other tests: there single seconds say nothing about the limit.
    return 0 if holds and (steady or options.only_backlog) else 1


if __name__ == "__main__":
    sys.exit(run_main(main))
