"""Does a worker of any pool run its tasks again after Redis was away, with results in the same Redis?

Question: one worker, tasks that run while Redis is killed with -9, so that neither their results nor their
    acknowledgements can be stored; Redis comes back with its append-only file after some seconds. Does each task run
    that is published then: plain, with ``rate_limit``, with ``max_in_flight``, and unique? Is any lease, place or
    unique key left? The same worker on ``redis://`` beside it.
Machine: whatever runs it; five cases run at once, each with a Redis of its own.
Command: make chaos NAME=outages
Result: a table and one JSON line; exit code 0 only if with ``delayhub://`` every later task ran, and nothing was held
    or put right by claims.
Caveat: on ``redis://`` only the tasks are counted; it has no leases, and no places or keys that all workers share.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.limits_rig import APP, put_right
from benchmarks.processes import Fleet, told, words_of
from benchmarks.result import Result, judged, option
from delayhub.engine import DelayQueue
from delayhub.engine.key_holders import look_at_keys
from delayhub.engine.limits import flying_counts
from delayhub.local.redis_server import RedisServer
from tests.waiting import wait_until

POOLS = ("solo", "threads", "prefork", "gevent", "eventlet")
CONCURRENCY = 4
#: Tasks that run while Redis goes away take so long.
RUNNING_SECONDS = 1.5
#: How long the tasks that were published after an outage have to run, and what is held to be gone.
PATIENCE_SECONDS = 45.0


def run_case(scheme: str, pool: str, ack: str, outages: list[float]) -> dict[str, Any]:
    """What came of the outages in one worker."""
    conf = {"task_acks_late": ack == "late", "broker_transport_options": {"lease_seconds": 5.0}}
    limits = {"LIMITS_RATE": "20/s", "LIMITS_AT_ONCE": "1", "LIMITS_ACK": ack}
    with tempfile.TemporaryDirectory() as name, RedisServer(append_only=True) as server:
        folder, address = Path(name), f"127.0.0.1:{server.port}/0"
        log = folder / "worker0.log"
        with (
            told(SHOP_BROKER=f"{scheme}://{address}", SHOP_FOLDER=name, SHOP_CONF=json.dumps(conf), **limits),
            Fleet(folder, APP, [f"-P {pool} -c {CONCURRENCY} -l INFO"], SHOP_RESULTS=f"redis://{address}"),
        ):
            wait_until(lambda: " ready." in log.read_text(), otherwise="a worker that is ready")
            return _case(server, folder, outages, is_ours=scheme == "delayhub")


def _case(server: RedisServer, folder: Path, outages: list[float], *, is_ours: bool) -> dict[str, Any]:
    from benchmarks import limits_shop as shop

    tasks = (shop.work, shop.mail, shop.report, shop.single)  # in turn
    numbers = itertools.count()
    later = ran = stuck = 0
    slowest = 0.0

    def publish(seconds: float, *, first: int) -> list[str]:
        turn = tasks[first:] + tasks[:first]
        words = [f"{task.name}-{next(numbers)}" for task in turn]
        with shop.app.connection_for_write(shop.app.conf.broker_url) as connection:
            for task, word in zip(turn, words, strict=True):
                own = {"key": "the only one"} if task is shop.single else {}
                task.apply_async([], {"word": word, "seconds": seconds, **own}, connection=connection)
        return words

    def began() -> list[str]:
        return [words[0] for name in ("work", "mail", "report", "single") for words in words_of(folder / name)]

    def healed() -> dict[str, int]:
        with server.client() as client:
            return {"put right": put_right(client, [DelayQueue(client, "celery")])}

    for turn, away_seconds in enumerate(outages):
        # In solo, which runs one at a time, each outage meets another task.
        first = publish(RUNNING_SECONDS, first=turn % len(tasks))[0]
        try:
            wait_until(lambda first=first: first in began(), within_seconds=PATIENCE_SECONDS)
        except TimeoutError:
            return {"outages": turn, "later": later + 1, "ran": ran, "held": held(server) if is_ours else 0} | healed()
        server.kill()
        time.sleep(away_seconds)
        server.restart()
        restarted = time.monotonic()
        # One unique call may wait, with another word; it is the one that all later ones become.
        words = {word for word in publish(0.01, first=0) if "single" not in word}
        words |= {word for word in publish(0.01, first=0) if "single" not in word}

        def is_over(words: set[str] = words) -> bool:
            return words <= set(began()) and not (is_ours and held(server))

        with contextlib.suppress(TimeoutError):  # the figures say it
            wait_until(is_over, within_seconds=PATIENCE_SECONDS)
            slowest = max(slowest, time.monotonic() - restarted)
            words.add(publish(0.01, first=0)[3])  # nothing holds the key now: this very call runs
            wait_until(is_over, within_seconds=PATIENCE_SECONDS)
        stuck += held(server) if is_ours else 0
        later += len(words)
        ran += len(words & set(began()))
    found = {"outages": len(outages), "later": later, "ran": ran, "held": stuck, "slowest s": round(slowest, 1)}
    return found | healed()


def held(server: RedisServer) -> int:
    """How many messages are held or wait, places that are taken, and unique keys."""
    with server.client() as client:
        queue = DelayQueue(client, "celery")
        counts = queue.count()
        messages = counts.waiting + counts.ready + counts.leased + counts.parked + counts.dead
        return messages + sum(flying_counts(queue).values()) + len(look_at_keys(queue, limit=1000).found)


def main(asked: argparse.Namespace) -> Result:
    """Runs each case in a process of its own, all at once, and shows what came of them."""
    if asked.case:
        return Result(run_case(asked.schemes[0], asked.pools[0], asked.acks[0], asked.outages))
    cases = list(itertools.product(asked.schemes, asked.pools, asked.acks))
    command = [sys.executable, "-m", "benchmarks.run", "chaos", "outages", "--case"]
    command += ["--outages", *map(str, asked.outages)]

    def figures(case: tuple[str, str, str]) -> dict[str, Any]:
        scheme, pool, ack = case
        options = ["--schemes", scheme, "--pools", pool, "--acks", ack]
        done = subprocess.run([*command, *options], stdout=subprocess.PIPE, text=True, check=False)
        made: dict[str, Any] = (
            json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"failed": done.returncode}
        )
        print(f"{' '.join(case):24}", made, file=sys.stderr, flush=True)
        return made

    with ThreadPoolExecutor(asked.at_once) as threads:
        found = {" ".join(case): made for case, made in zip(cases, threads.map(figures, cases), strict=True)}
    ours = [figures for name, figures in found.items() if name.startswith("delayhub ")]
    return Result(
        found,
        all(judged(each, none=("failed", "held", "put right"), some=("outages", "ran")) for each in ours)
        and all(each["ran"] == each["later"] for each in ours),
    )


OPTIONS = [
    option("--outages", [4.0, 20.0] * 5, "seconds of each", nargs="+"),
    option("--schemes", ["delayhub", "redis"], nargs="+"),
    option("--pools", list(POOLS), nargs="+", choices=POOLS),
    option("--acks", ["early", "late"], nargs="+", choices=("early", "late")),
    option("--at-once", 5, "cases that run beside each other"),
    option("--case", action="store_true", help="run the one case here"),
]
