"""Whenever no job is delivered, the health page, the admin and ``delayhub check`` say so and why."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Unpack

import pytest
import requests

from delayhub.client import Client, JobSeriesFields
from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.scenario import plan
from delayhub.demo.site import ADMIN_NAME, Site
from delayhub.local.redis_server import RedisServer
from tests.acceptance.celery_worker import worker_service
from tests.acceptance.site import create_on, now, wait_until_all_ended
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(lasting_site: Site) -> Site:
    """One site for all of them: each leaves it up and running."""
    return lasting_site


@pytest.fixture(scope="module")
def admin(site: Site) -> Iterator[requests.Session]:
    """A person who is logged in."""
    with requests.Session() as session:
        session.get(f"{site.url}/admin/login/")
        who = {"username": ADMIN_NAME, "password": site.admin_password}
        form = {**who, "next": "/admin/", "csrfmiddlewaretoken": session.cookies["csrftoken"]}
        session.post(f"{site.url}/admin/login/", form, headers={"Referer": site.url}).raise_for_status()
        yield session


class Places:
    """Where people look: each gives back what it says."""

    def __init__(self, site: Site, admin: requests.Session) -> None:
        self.site = site
        self.admin = admin

    def readyz(self) -> str:
        answer = requests.get(f"{self.site.url}/readyz", timeout=60)
        assert answer.status_code == 200  # jobs can be created all the same
        return str(answer.json()["delivery"])

    def overview(self) -> str:
        return self._page("/admin/")

    def jobs(self) -> str:
        return self._page("/admin/tasksapp/job/")

    def check(self) -> str:
        command = [sys.executable, "-m", "celery", "-A", "delayhub.project", "delayhub", "check"]
        done = subprocess.run(
            command, env=self.site.environment, capture_output=True, text=True, timeout=120, check=False
        )
        said = done.stdout + done.stderr
        assert (done.returncode == 1) == ("fault" in said or "Error" in said), (done.returncode, said)
        return said

    def wait_until_told(self, sentence: str) -> None:
        """Waits until the health page says it, no longer than it may take, and then finds it everywhere else."""
        wait_until(lambda: sentence in self.readyz(), otherwise=self.readyz)
        for place in (self.overview, self.jobs, self.check):
            assert sentence in place(), place.__name__

    def wait_until_well(self) -> None:
        wait_until(lambda: self.readyz() == "ok", otherwise=self.readyz)

    def _page(self, address: str) -> str:
        answer = self.admin.get(self.site.url + address, timeout=60)
        return html.unescape(answer.text)


@pytest.fixture
def places(site: Site, admin: requests.Session) -> Iterator[Places]:
    """The places, of a site that delivers before and after each test."""
    found = Places(site, admin)
    found.wait_until_well()
    yield found
    found.wait_until_well()


def test_while_jobs_are_delivered_no_place_says_otherwise(places: Places) -> None:
    # In a test of its own: the command takes ten seconds and more while others use the machine.
    for place in (places.overview, places.jobs, places.check):
        assert "o job is delivered" not in place(), place.__name__


def test_without_a_worker_all_places_say_so_and_run_now_that_the_job_waits(site: Site, places: Places) -> None:
    # Not due by itself while no worker runs: the first job of a plan is due in seconds.
    (job_id,) = create_on(site, plan(jobs=1, seconds=600, now=now() + timedelta(hours=1), run="waiting"))

    site.worker.kill()
    places.wait_until_told("no worker takes the timers of delayhub.timers since 20")
    form = {"csrfmiddlewaretoken": places.admin.cookies["csrftoken"]}
    address = f"{site.url}/admin/tasksapp/job/{job_id}/run_now/"
    page = places.admin.post(address, form, headers={"Referer": site.url}, timeout=60).text

    site.worker.launch()
    assert 'class="warning">1 job due now. It waits until jobs are delivered again.' in page, page
    assert page.count("No job is delivered: no worker takes") == 1
    assert 'class="success"' not in page
    places.wait_until_well()
    for place in (places.overview, places.jobs):
        wait_until(lambda place=place: "o job is delivered" not in place(), otherwise=place)


def create_series(site: Site, **fields: Unpack[JobSeriesFields]) -> int:
    """The id of a new series of the first sample."""

    with Client(site.url, api_key=site.api_key) as api:
        return api.series.create(CLOSE_ORDER.code, name="each second", **fields).id


def ended_of(site: Site, series: int) -> int:
    """How many jobs of the series have succeeded."""
    with Client(site.url, api_key=site.api_key) as api:
        return len([*api.jobs.list(series=series, status="succeeded")])


def test_without_redis_all_places_say_so(site: Site, places: Places) -> None:
    site.redis.kill()
    try:
        wait_until(lambda: "Redis does not answer" in places.readyz())
        assert "Redis does not answer: workers go on from the database" in places.overview()
        assert "Redis does not answer: workers go on from the database" in places.jobs()
        assert "no task runs: Redis does not answer" in places.check()
        # As the sentence says, and by a worker that was started meanwhile, too.
        meanwhile = create_on(site, plan(jobs=3, seconds=1, now=now(), run="without redis"))
        wait_until_all_ended(site, meanwhile)
        site.worker.kill()
        site.worker.launch()
        started = create_on(site, plan(jobs=3, seconds=1, now=now(), run="started without"))
        wait_until_all_ended(site, started)
        series = create_series(site, every=1, count=3)
        wait_until(lambda: ended_of(site, series) == 3, otherwise=site.worker.log_tail)
    finally:
        site.redis.start()
    after = create_on(site, plan(jobs=3, seconds=1, now=now(), run="redis is back"))
    wait_until_all_ended(site, after)


@pytest.mark.nightly  # by day: tests/integration/tasksapp/stats/test_delivery_health.py
def test_a_worker_on_another_redis_is_noticed_and_both_are_named(site: Site, places: Places, tmp_path: Path) -> None:
    site.worker.stop()

    with RedisServer() as other:
        broker = other.url.replace("redis://", "delayhub://")
        elsewhere = {**site.environment, "DELAYHUB_BROKER_URL": broker}
        with worker_service("delayhub.project", elsewhere, "-P", "threads", folder=tmp_path):
            places.wait_until_told("the workers keep the timers in another Redis than this process")

            (named,) = re.findall(r"this process: (\S+); worker \S+: ([^\s)]+)", places.check())
            assert named == (f"127.0.0.1:{site.redis.port}/0", f"127.0.0.1:{other.port}/0")
            assert str(other.port) not in places.readyz()
            # As the sentence says: late, and not never.
            created = create_on(site, plan(jobs=3, seconds=1, now=now(), run="elsewhere"))
            wait_until_all_ended(site, created)

    site.worker.launch()
