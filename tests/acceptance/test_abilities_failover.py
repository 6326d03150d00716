"""Order, the last of a biz id, answers, encrypted bodies and access tokens while masters of Redis are killed."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from benchmarks.chaos_cluster import TIMER_LANE, kill_the_master_of
from delayhub.client import Client, JobRequest
from delayhub.demo.site import SiteOptions
from delayhub.engine.lane_tag import tag
from tests.acceptance.second_worker import second_worker
from tests.acceptance.site import SHORT_LEASES
from tests.cluster import LocalCluster
from tests.integration.delayhub.transport.sentinels import NAME, Sentinels
from tests.integration.tasksapp.receiver import Receiver
from tests.kept_folder import DATABASE, PreparedSite
from tests.waiting import wait_until

# by day: tests/integration/tasksapp/timers/test_lanes_sentinel.py, and the tests of each ability
pytestmark = [pytest.mark.slow, pytest.mark.nightly]

KEYS, ROUNDS, KILLS = [f"order-{number}" for number in range(4)], 10, (2, 6)
PIN = "0000-planted-pin"
#: How each biz type differs from the usual ones.
BIZ_TYPES: dict[str, dict[str, Any]] = {
    "after": {},
    "ask": {"on_resolved": "after", "on_success": "after"},
    "last": {"one_live": "last"},
    "oauth": {},
    "ordered": {"ordered": "dead_blocks"},
    "sealed": {"encrypted": True},
}
FAILS_ONCE = {"/ordered", "/sealed"}


@dataclass(frozen=True)
class Call:
    """A callback as the receiver saw it."""

    job_id: str
    body: Any
    authorization: str
    began: float
    ended: float


class Calls:
    """Answers callbacks, some of which fail once, and gives access tokens."""

    def __init__(self) -> None:
        self.tokens = 0
        self.of: defaultdict[str, list[Call]] = defaultdict(list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/token":
            self.tokens += 1
            return web.json_response({"access_token": f"t{self.tokens}", "token_type": "bearer", "expires_in": 3600})
        began, job_id, body = (
            time.monotonic(),
            request.headers["webhook-id"],
            json.loads(await request.text() or "null"),
        )
        await asyncio.sleep(0.05)
        is_first = all(call.job_id != job_id for call in self.of[request.path])
        carried = request.headers.get("Authorization", "")
        self.of[request.path].append(Call(job_id, body, carried, began, time.monotonic()))
        return web.Response(status=503 if is_first and request.path in FAILS_ONCE else 204)


@contextmanager
def sentinels(folder: Path) -> Iterator[tuple[dict[str, str], str, Callable[[], None]]]:
    with Sentinels(folder) as group:
        yield {"DELAYHUB_BROKER_MASTER_NAME": NAME}, group.url, lambda: group.kill_the_master(alone_seconds=1.0)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[dict[str, str], str, Callable[[], None]]]:
    with LocalCluster(masters=3, replicas=1) as nodes:
        yield {}, nodes.url, lambda: kill_the_master_of(nodes, tag(TIMER_LANE))


@pytest.mark.parametrize("group", [sentinels, cluster])
def test_each_ability_keeps_its_promise_whichever_master_is_killed(group: Any, tmp_path: Path) -> None:
    calls, folder = Calls(), tmp_path / "site"
    with (
        group(tmp_path) as (settings, url, kill),
        Receiver(calls.answer) as receiver,
        PreparedSite(SiteOptions(data_dir=folder, settings={**SHORT_LEASES, **settings}, broker_url=url)) as site,
        second_worker(site) as second,
        Client(site.url, api_key=site.api_key) as api,
    ):
        for code, own in BIZ_TYPES.items():
            usual: Any = {"url": receiver.url(f"/{code}"), "backoff": "fixed", "backoff_min_seconds": 1, "jitter": 0}
            api.biz_types.create(code, **usual, **own)
        api.biz_types.set_credentials(
            "oauth", "oauth2", auth_secret="s3cret", token_url=receiver.url("/token"), client_id="shop"
        )

        names: dict[str, str] = {}
        for number in range(ROUNDS):
            jobs: list[JobRequest] = []
            for key in KEYS:
                biz_id = f"{key}-{number}"
                jobs += [
                    {"biz_type": "ordered", "biz_id": biz_id, "flow_key": key, "body": number},
                    {"biz_type": "last", "biz_id": key, "body": number},
                    {"biz_type": "sealed", "biz_id": biz_id, "body": f"{PIN} {number}"},
                    {"biz_type": "oauth", "biz_id": biz_id},
                    {"biz_type": "ask", "biz_id": biz_id, "delay": 2},
                ]
            created = api.jobs.create_many(jobs)
            names |= {
                str(one.id): key for one, key in zip(created, [key for key in KEYS for _ in range(5)], strict=True)
            }
            if number in KILLS:
                kill()
            if number:
                for key in KEYS:
                    api.jobs.resolve(["ask"], f"{key}-{number - 1}", outcome="approved")
        wait_until(lambda: not list(api.jobs.list(status=["pending", "running"])), otherwise=second.log_tail)

        ended = list(api.jobs.list())
        asked = {job.id for job in ended if job.biz_type == "ask"}
        assert Counter(job.status for job in ended if job.id not in asked) == {"succeeded": len(ended) - len(asked)}
        assert Counter(call.body["follows"]["id"] for call in calls.of["/after"]) == Counter(asked)
        for path in ("/ordered", "/last"):
            for key in KEYS:
                mine = [call for call in calls.of[path] if names[call.job_id] == key]
                assert mine[-1].body == ROUNDS - 1
                for one, following in pairwise(sorted(mine, key=lambda call: call.began)):
                    assert one.body <= following.body
                    assert one.ended <= following.began, "one began beside the other"
        assert Counter(call.body for call in calls.of["/sealed"]) == {f"{PIN} {n}": 8 for n in range(ROUNDS)}
        assert all(call.authorization.startswith("Bearer t") for call in calls.of["/oauth"])
        assert 1 <= calls.tokens <= 1 + 2 * len(KILLS), "while Redis is away, each of two processes may ask"
    stored = [file for file in folder.glob(f"{DATABASE}*") if PIN.encode() in file.read_bytes()]
    assert stored == []
