"""Messages as no Celery producer writes them, and a live worker that gets thousands: ``make fuzz-messages``.

Hypothesis takes a good message and spoils some of its parts, or makes up all of it. Each message that the worker
cannot run must be dead, with the reason; the good ones between them must run; and the worker must be the same process
at the end.

    python -m tests.malformed_messages --messages 10000 --pools solo threads prefork
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import redis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from delayhub.celery_support.queued_task import stretch
from delayhub.engine import DelayQueue, Entry, Place
from delayhub.local.redis_server import RedisServer
from tests.acceptance.celery_worker import CeleryWorker, celery_command
from tests.waiting import wait_until

#: A good message after so many others.
GOOD_EVERY = 20
BATCH = 200
QUEUE = "celery"

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=6), inner), max_leaves=6)
NOT_TEXT = st.lists(SCALARS) | st.dictionaries(st.text(max_size=3), JSON) | st.integers() | st.booleans()
NO_NAME = NOT_TEXT | st.none() | st.just("") | st.just("\ud800")
NO_OBJECT = st.lists(SCALARS, min_size=1) | st.integers(min_value=1) | st.just(True) | st.text(min_size=1)
NO_MOMENT = st.sampled_from(["abc", "2026-13-01", "99999-01-01", "0001-01-01T00:00:00+23:59"]) | NOT_TEXT
NO_LIMITS = st.sampled_from(["abc", 5, [1], [1, 2, 3], ["a", None], {"a": 1}, [-1, None], [None, float("nan")]])

#: What spoils a header for certain, by its name.
SPOILT_HEADERS = {
    "id": NO_NAME,
    "task": NO_NAME,
    "shadow": NOT_TEXT,
    "eta": NO_MOMENT,
    "expires": NO_MOMENT,
    "timelimit": NO_LIMITS,
    "stamped_headers": st.sampled_from(["abc", 5, [{}], [["a"]]]),
    "stamps": NO_OBJECT,
    "compression": st.sampled_from(["zip", "application/x-gzip", {"a": 1}, 5]),
    "x-delayhub-due": st.sampled_from(["abc", -1, 2**60, {}, [], 1.5]),
}
SPOILT_BODIES = st.sampled_from(
    [[], None, 5, "abc", "args", {}, [1, 2], [[], {}, {}, {}], [5, {}, {}], [[], 5, {}], [[], {}, 5], {"args": 5}]
)
#: What spoils the message around it for certain.
SPOILT_PARTS = {
    "headers": NO_OBJECT,
    "properties": NO_OBJECT | st.none(),
    "body": st.sampled_from(["!", "%%%", "AAA", 5, None, [], {}]),
    "content-type": st.sampled_from(["application/x-python-serialize", "pickle", "text/none", None, 5, []]),
}
#: Headers that a worker can live with, whatever they are.
FREE_HEADERS = (
    *(
        "root_id",
        "parent_id",
        "group",
        "groups",
        "retries",
        "argsrepr",
        "kwargsrepr",
        "origin",
        "lang",
        "ignore_result",
    ),
    *("x-delayhub-unique", "x-delayhub-key", "x-delayhub-job", "replaced_task_nesting", "update", "get"),
)


class Made(NamedTuple):
    """A message: its payload, and whether it is spoilt for certain, or only made up."""

    payload: bytes
    is_spoilt: bool


def message(task: str, task_id: str, body: Any) -> dict[str, Any]:
    """A message as Celery and kombu write it."""
    return {
        "headers": {"task": task, "id": task_id, "lang": "py", "retries": 0, "timelimit": [None, None]},
        "body": base64.b64encode(json.dumps(body).encode()).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "properties": {
            "body_encoding": "base64",
            "delivery_info": {"exchange": "", "routing_key": QUEUE},
            "delivery_tag": task_id,
        },
    }


#: How messages are made, each as often as the others.
KINDS = ("header", "body", "part", "missing", "info", "free", "options", "any", "bytes")


@st.composite
def messages(draw: Any) -> Made:
    """Messages, most of which are spoilt somewhere."""
    kind = draw(st.sampled_from(KINDS))
    made = message("proj.add", draw(st.uuids()).hex, [[1, 1], {}, {}])
    if kind == "header":
        name = draw(st.sampled_from(sorted(SPOILT_HEADERS)))
        made["headers"][name] = draw(SPOILT_HEADERS[name])
    elif kind == "body":
        made["body"] = base64.b64encode(json.dumps(draw(SPOILT_BODIES)).encode()).decode()
    elif kind == "part":
        name = draw(st.sampled_from(sorted(SPOILT_PARTS)))
        made[name] = draw(SPOILT_PARTS[name])
    elif kind == "missing":
        del made["headers"][draw(st.sampled_from(["id", "task"]))]
    elif kind == "info":
        made["properties"]["delivery_info"] = draw(NO_OBJECT)
    elif kind == "free":
        made["content-encoding"] = draw(st.sampled_from(["utf-8", "utf-99", 5, []]))
        made["headers"] |= draw(st.dictionaries(st.sampled_from(FREE_HEADERS), JSON, min_size=1))
    elif kind == "options":
        names = ("callbacks", "errbacks", "chain", "chord")
        objects = st.dictionaries(st.text(), JSON), st.dictionaries(st.sampled_from(names), JSON)
        body = draw(st.tuples(st.lists(JSON), *objects))
        made["body"] = base64.b64encode(json.dumps(body).encode()).decode()
    elif kind == "any":
        return Made(json.dumps(draw(JSON)).encode(), is_spoilt=False)
    else:
        return Made(draw(st.binary(max_size=50)), is_spoilt=True)
    return Made(json.dumps(made).encode(), is_spoilt=kind not in ("free", "options"))


def made_up(count: int, *, number: int) -> list[Made]:
    """So many messages, the same for the same number."""
    found: list[Made] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(messages())
    def collect(made: Made) -> None:
        found.append(made)

    collect()
    return found[:count]


def run(
    queue: DelayQueue,
    made: list[Made],
    worker: CeleryWorker,
    *,
    ledger: redis.Redis,
    within_seconds: float = 120.0,
) -> dict[str, int]:
    """Publishes them with good ones between; what became of them.

    Raises:
        TimeoutError: some are still there, or a good one has not run; it has the end of the worker's log.
    """
    good = 0
    for start in range(0, len(made), BATCH):
        entries = []
        for place, one in enumerate(made[start : start + BATCH], start):
            entries.append(Entry(f"{'bad' if one.is_spoilt else 'odd'}{place}", payload=one.payload))
            if place % GOOD_EVERY == 0:
                good += 1
                payload = json.dumps(message("proj.run", f"good{place}", [[], {}, {}])).encode()
                entries.append(Entry(f"good{place}", payload=payload))
        queue.schedule(entries)

    def is_over() -> bool:
        counts = queue.count()
        return not worker.is_running or counts.ready + counts.leased + counts.waiting + counts.parked == 0

    def state() -> str:
        return f"{queue.count()}, the worker {'runs' if worker.is_running else 'ended'}: {worker.log[-3000:]}"

    wait_until(is_over, within_seconds=within_seconds, otherwise=state)
    assert worker.is_running, state()
    lines: Any = ledger.lrange("ledger:start", 0, -1)
    ran = {line.split()[0].decode() for line in lines}
    dead = {one.id: one.reason for one in stretch(queue, Place.DEAD, 0, 2 * len(made))}
    bad = {f"bad{place}" for place, one in enumerate(made) if one.is_spoilt}
    return {
        "messages": len(made),
        "good": good,
        "good that ran": sum(one.startswith("good") for one in ran),
        "spoilt": len(bad),
        "spoilt and dead": len(bad & dead.keys()),
        "other dead": len(dead.keys() - bad),
        "good that are dead": len([one for one in dead if one.startswith("good")]),
        "dead after strikes": sum(not reason.startswith("unreadable: ") for reason in dead.values()),
    }


def listed_dead(env: dict[str, str], offset: int) -> list[dict[str, Any]]:
    """What ``celery delayhub dead`` shows, from an offset on."""
    found: list[dict[str, Any]] = json.loads(
        celery_command(env, "delayhub", "dead", "--json", "--limit=1000", f"--offset={offset}")
    )
    return found


def main() -> int:
    """The exit code: 1 where a worker ended, a good message did not run, or a spoilt one is not dead."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--pools", nargs="+", default=["solo", "threads", "prefork", "gevent"])
    parser.add_argument("--seed", type=int, default=int(time.monotonic_ns()))
    asked = parser.parse_args()
    print(f"--seed {asked.seed}", flush=True)
    made = made_up(asked.messages, number=asked.seed)
    failed = False
    for pool in asked.pools:
        with tempfile.TemporaryDirectory() as folder, RedisServer() as server, server.client() as client:
            env = {"BROKER_URL": f"delayhub://127.0.0.1:{server.port}/0", "RESULT_URL": server.url}
            with CeleryWorker(env, pool=pool, folder=Path(folder)) as worker:
                found = run(DelayQueue(client, QUEUE), made, worker, ledger=client, within_seconds=1800)
            shown = [one for start in range(0, len(made), 1000) for one in listed_dead(env, start)]
            found["shown by the command"] = len(shown)
        print(pool, json.dumps(found), flush=True)
        are_dead = found["spoilt and dead"] + found["other dead"]
        failed |= found["spoilt and dead"] < found["spoilt"] or found["good that ran"] < found["good"]
        failed |= len(shown) != are_dead or not all(one["reason"] for one in shown)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
