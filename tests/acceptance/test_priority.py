"""Priority on a whole site: what a limit holds back goes by priority and by how long it has waited."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from delayhub.client import AsyncClient, JobRequest
from delayhub.clock import SystemClock
from delayhub.demo.receiver import read_received
from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import Site
from delayhub.engine.keys import LaneKeys
from tasksapp.conf import DEFAULT_LANE
from tests.acceptance.site import now, site_in
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

#: So many of low priority may come before: those that a worker had claimed when the biz type was paused, and those
#: whose call overtakes another one on a busy machine. Without priority it would be all of them.
AHEAD = 30
#: Nine steps of priority are nine minutes of waiting (docs/jobs/retries.md).
LONG_AGO = timedelta(minutes=10)


def is_shut(site: Site) -> bool:
    """Whether workers know of the pause. What they claim before is given back by its row, and comes again later."""
    with site.redis.client() as client:
        until_ms = client.hget(LaneKeys(DEFAULT_LANE).queue(CLOSE_ORDER.code).gate, "shut_until")
    return bool(until_ms) and int(until_ms) > SystemClock().now_ms()


@pytest.mark.nightly  # by day: tests/integration/tasksapp/sql/test_claim_jobs.py
def test_urgent_jobs_and_those_that_waited_long_pass_a_backlog_of_low_ones(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:

        async def create() -> dict[str, list[str]]:
            async with AsyncClient(site.url, api_key=site.api_key) as api:
                await api.biz_types.change(CLOSE_ORDER.code, delivery_rate=40, delivery_burst=1)
                await api.biz_types.pause(CLOSE_ORDER.code, reason="a backlog")
                wait_until(lambda: is_shut(site), otherwise=site.worker.log_tail)
                made: dict[str, list[str]] = {}
                for name, count, priority, ago in (
                    ("low", 60, 9, timedelta()),
                    ("long ago", 15, 9, LONG_AGO),
                    ("urgent", 10, 0, timedelta()),
                ):
                    job: JobRequest = {"biz_type": CLOSE_ORDER.code, "priority": priority, "due_at": now() - ago}
                    made[name] = [done.id for done in await api.jobs.create_many([job] * count) if done.id]
                await api.biz_types.resume(CLOSE_ORDER.code)
            return made

        made = asyncio.run(create())
        kind_of = {job_id: kind for kind, ids in made.items() for job_id in ids}

        def order() -> list[str]:
            return [kind_of[callback.job_id] for callback in read_received(site.folder.received)]

        wait_until(lambda: len(order()) >= 85, otherwise=site.worker.log_tail)

        came = order()
        assert (came.count("long ago"), came.count("urgent"), came.count("low")) == (15, 10, 60)
        first = came[: 25 + AHEAD]
        assert (first.count("long ago"), first.count("urgent")) == (15, 10), came
