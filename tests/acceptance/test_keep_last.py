"""Keeping the last on a whole site: two workers, one of them killed while jobs run, and what the receiver saw."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from delayhub.client import Client, JobRequest
from delayhub.demo.receiver import read_received
from delayhub.demo.samples import SEND_REMINDER
from tests.acceptance.second_worker import second_worker
from tests.acceptance.site import site_in
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.nightly]  # by day: tests/integration/tasksapp/sql/test_keep_last_races.py

KEYS = [f"shop-{number}" for number in range(8)]
CREATES, KILLS = 12, (4, 8)


def test_one_job_of_a_key_is_called_at_a_time_and_the_last_content_last_whoever_is_killed(tmp_path: Path) -> None:
    code = SEND_REMINDER.code  # its receiver fails each twice, so that jobs are under way for seconds
    with (
        site_in(tmp_path) as site,
        second_worker(site) as second,
        Client(site.url, api_key=site.api_key) as api,
    ):
        api.biz_types.change(code, one_live="last")

        def received() -> int:
            return len(list(read_received(site.folder.received)))

        for body in range(CREATES):
            before = received()
            jobs: list[JobRequest] = [{"biz_type": code, "biz_id": key, "body": body} for key in KEYS]
            assert all(one.id for one in api.jobs.create_many(jobs))
            wait_until(lambda before=before: received() > before, otherwise=second.log_tail)
            if body in KILLS:
                site.worker.kill()
                site.worker.launch()
        wait_until(lambda: not list(api.jobs.list(status=["pending", "running"])), otherwise=second.log_tail)

        made, calls = defaultdict(list), defaultdict(list)
        for job in sorted(api.jobs.list(biz_type=code), key=lambda job: job.id):
            made[job.biz_id].append(job)
        for callback in read_received(site.folder.received):
            calls[callback.job_id].append(callback)
        assert sorted(made) == KEYS
        for jobs_of_key in made.values():
            assert {job.status for job in jobs_of_key} == {"succeeded"}
            assert 1 < len(jobs_of_key) < CREATES, "some were replaced while they waited"
            assert jobs_of_key[-1].body == CREATES - 1
            for job, following in pairwise(jobs_of_key):
                assert calls[job.id][-1].at_ms <= calls[following.id][0].at_ms, "one began beside the other"
