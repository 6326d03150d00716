"""A job whose debounce key is used again and again, faster than its delay, runs all the same."""

from __future__ import annotations

import asyncio

import pytest

from delayhub.client import AsyncClient, JobRequest
from delayhub.clock import SystemClock
from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import Site
from tests.acceptance.site import received_by

pytestmark = [pytest.mark.slow, pytest.mark.nightly]  # by day: tests/integration/tasksapp/sql/test_replace_jobs_wait.py


def test_a_key_that_is_used_every_fifth_of_a_second_fires_after_its_longest_wait(lasting_site: Site) -> None:
    site, clock = lasting_site, SystemClock()
    job: JobRequest = {"biz_type": CLOSE_ORDER.code, "delay": 2, "debounce_key": "cart-7", "debounce_max_wait": 4}
    made: set[str] = set()

    def fired() -> set[str]:
        return {callback.job_id for callback in received_by(site, made)}

    async def touch_until_it_fires() -> float:
        begin = clock.monotonic()
        async with AsyncClient(site.url, api_key=site.api_key) as api:
            while clock.monotonic() < begin + 60:
                made.add((await api.jobs.create(**job)).id)
                if fired():
                    break
                await asyncio.sleep(0.2)
        return clock.monotonic() - begin

    seconds = asyncio.run(touch_until_it_fires())

    assert len(fired()) == 1, site.worker.log_tail()
    assert seconds >= 4
