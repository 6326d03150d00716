"""What a site survives: a killed worker, a Redis that forgot everything."""

from __future__ import annotations

import pytest

from delayhub.demo.report import FollowedJob
from delayhub.demo.scenario import plan
from delayhub.demo.site import Site
from tests.acceptance.site import create_on, received_by, soon, wait_until_all_ended
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def site(lasting_site: Site) -> Site:
    """One site for all of them: each leaves it as a survivor should be, up and running."""
    return lasting_site


def assert_ended_as_planned(jobs: list[FollowedJob]) -> None:
    """Each job has the status it must have, by the API and by what the receiver saw: at least once, never early."""
    assert [(job.planned.biz_id, job.status) for job in jobs] == [
        (job.planned.biz_id, job.planned.final_status) for job in jobs
    ]
    for job in jobs:
        assert len(job.callbacks) >= job.planned.attempts, job
        assert all(callback.verified for callback in job.callbacks)
        if job.status == "cancelled":
            assert job.callbacks == ()
        else:
            assert job.delivered == (job.status == "succeeded"), job
            assert job.lateness_ms is not None
            assert job.lateness_ms >= 0, job


def test_a_worker_killed_in_the_middle_of_deliveries_loses_nothing(site: Site) -> None:
    created = create_on(site, plan(jobs=120, seconds=4, now=soon(), run="killed"))

    for so_far in (20, 80):
        wait_until(
            lambda so_far=so_far: len(received_by(site, created)) >= so_far,
            otherwise=site.worker.log_tail,
        )
        site.worker.kill()
        site.worker.launch()

    jobs = wait_until_all_ended(site, created)
    assert_ended_as_planned(jobs)


@pytest.mark.nightly  # by day: the test below, and tests/integration/tasksapp/maintenance/test_loader.py
def test_jobs_fire_although_redis_forgot_their_timers(site: Site) -> None:
    created = create_on(site, plan(jobs=60, seconds=4, now=soon(), run="forgotten"))
    with site.redis.client() as client:
        assert client.dbsize() > 0
        client.flushall()

    jobs = wait_until_all_ended(site, created)

    assert_ended_as_planned(jobs)


def test_jobs_fire_although_redis_was_killed_and_its_file_lost(site: Site) -> None:
    created = create_on(site, plan(jobs=60, seconds=4, now=soon(), run="wiped"))
    site.redis.kill()
    for file in site.folder.redis.rglob("appendonly*"):
        if file.is_file():
            file.unlink()
    site.redis.start()

    jobs = wait_until_all_ended(site, created)

    assert_ended_as_planned(jobs)
