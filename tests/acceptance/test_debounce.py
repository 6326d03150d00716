"""A job whose debounce key is used again and again, faster than its delay, runs all the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from delayhub.client import AsyncClient, JobRequest
from delayhub.clock import SystemClock
from delayhub.demo.receiver import read_received
from delayhub.demo.samples import CLOSE_ORDER
from tests.acceptance.site import site_in

pytestmark = pytest.mark.slow


def test_a_key_that_is_used_every_fifth_of_a_second_fires_after_its_longest_wait(tmp_path: Path) -> None:
    clock = SystemClock()
    job: JobRequest = {"biz_type": CLOSE_ORDER.code, "delay": 2, "debounce_key": "cart-7", "debounce_max_wait": 4}

    with site_in(tmp_path) as site:

        async def touch_until_it_fires() -> tuple[set[str], float]:
            made: set[str] = set()
            begin = clock.monotonic()
            async with AsyncClient(site.url, api_key=site.api_key) as api:
                while clock.monotonic() < begin + 60:
                    made.add((await api.jobs.create(**job)).id)
                    if list(read_received(site.folder.received)):
                        break
                    await asyncio.sleep(0.2)
            return made, clock.monotonic() - begin

        made, seconds = asyncio.run(touch_until_it_fires())

        fired = {callback.job_id for callback in read_received(site.folder.received)}
        assert len(fired) == 1, site.worker.log_tail()
        assert fired <= made
        assert seconds >= 4
