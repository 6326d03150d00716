"""Strict order on a whole site: two workers, one of them killed again and again, and what the receiver saw."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from delayhub.client import AsyncClient, JobRequest
from delayhub.demo.receiver import Received, read_received
from delayhub.demo.samples import CLOSE_ORDER, SEND_REMINDER, SampleBizType
from delayhub.demo.site import Site
from tests.acceptance.second_worker import second_worker
from tests.acceptance.site import site_in
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.nightly]  # by day: tests/integration/tasksapp/jobs/test_flow_order_runs.py

#: Jobs of a key, of the biz type whose receiver takes each at once, and of that whose receiver fails each twice.
EACH = {CLOSE_ORDER: 25, SEND_REMINDER: 3}
KEYS = [f"customer-{number}" for number in range(8)]
KILLS = 4


def create(site: Site) -> dict[tuple[str, str], list[str]]:
    """The ids of the jobs of each biz type and key, in their order."""

    async def ask() -> dict[tuple[str, str], list[str]]:
        made: dict[tuple[str, str], list[str]] = defaultdict(list)
        async with AsyncClient(site.url, api_key=site.api_key) as api:
            for sample, each in EACH.items():
                await api.biz_types.change(sample.code, ordered="dead_blocks")
                for _ in range(each):
                    jobs: list[JobRequest] = [{"biz_type": sample.code, "flow_key": key} for key in KEYS]
                    for key, done in zip(KEYS, await api.jobs.create_many(jobs), strict=True):
                        made[sample.code, key].append(done.id or "refused")
        return made

    return asyncio.run(ask())


def assert_in_order(ids: Sequence[str], received: Sequence[Received], sample: SampleBizType) -> None:
    """Each job of a key was there, and none before the one before it had been accepted."""
    accepted: set[str] = set()
    for callback in received:
        before = ids[: ids.index(callback.job_id)]
        assert set(before) <= accepted, (sample.code, ids, received)
        if callback.status == 204:
            accepted.add(callback.job_id)
    assert accepted == set(ids)


def test_no_job_of_a_key_begins_before_the_one_before_it_has_ended_whoever_is_killed(tmp_path: Path) -> None:
    with site_in(tmp_path) as site, second_worker(site) as second:
        made = create(site)
        keys = {job_id: place for place, ids in made.items() for job_id in ids}

        def accepted() -> int:
            return len({one.job_id for one in read_received(site.folder.received) if one.status == 204})

        for kill in range(1, KILLS + 1):
            so_far = kill * len(keys) // (KILLS + 1)
            wait_until(lambda so_far=so_far: accepted() >= so_far, otherwise=second.log_tail)
            site.worker.kill()
            site.worker.launch()
        wait_until(lambda: accepted() == len(keys), otherwise=second.log_tail)

        received: dict[tuple[str, str], list[Received]] = defaultdict(list)
        for callback in read_received(site.folder.received):
            received[keys[callback.job_id]].append(callback)
        for sample in EACH:
            for key in KEYS:
                assert_in_order(made[sample.code, key], received[sample.code, key], sample)
