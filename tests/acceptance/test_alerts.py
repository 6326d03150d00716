"""Owners of a whole site are told by mail and by webhook, once and with its end, whatever part of it is away."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from standardwebhooks import Webhook

from delayhub.demo.site import Site, SiteOptions
from delayhub.local.redis_server import free_port
from delayhub.local.service import Service
from delayhub.webhooks.signature import new_secret
from tests.acceptance.site import SHORT_LEASES
from tests.integration.tasksapp.receiver import Receiver
from tests.kept_folder import PreparedSite
from tests.mail_sink import MailSink, mail_sink
from tests.own_postgres import OwnPostgres
from tests.waiting import wait_until

# By day: test_watch.py, test_database_outage.py, test_outbox.py, test_thread.py of tests/integration/tasksapp/alerts.
pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(400)]

TOLD_WITHIN_SECONDS = 60
SECRET = new_secret()


@dataclass
class Told:
    """What an owner has got."""

    mail: MailSink
    posts: Receiver

    def posted(self) -> list[tuple[str, str]]:
        """Event and kind of each alert that was posted, in order; each post is signed."""
        found = []
        for post in self.posts.received:
            body: dict[str, Any] = Webhook(SECRET).verify(post.body, post.headers)
            found += [(alert["event"], alert["kind"]) for alert in body["data"]["alerts"]]
        return found

    def forget(self) -> None:
        self.mail.mails.clear()
        self.posts.received.clear()

    def wait_for(self, event: str, kind: str, *, within_seconds: float = TOLD_WITHIN_SECONDS) -> None:
        wait_until(
            lambda: (event, kind) in self.posted(), within_seconds=within_seconds, otherwise=lambda: str(self.posted())
        )
        wait_until(lambda: len(self.mail.mails) == len(self.posts.received), otherwise=lambda: str(self.mail.subjects))


@pytest.fixture(scope="module")
def database() -> Iterator[OwnPostgres]:
    server = OwnPostgres()
    yield server
    server.close()


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    with mail_sink() as mail, Receiver() as posts:
        yield Told(mail, posts)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, database: OwnPostgres, told: Told) -> Iterator[Site]:
    """A site with two web servers and a worker (tasksapp.workers.signals): three processes that watch."""
    settings = {
        **SHORT_LEASES,
        "DELAYHUB_DATABASE_URL": database.url,
        "DELAYHUB_EMAIL_URL": told.mail.url,
        "DELAYHUB_OWNER_MAIL": "owner@shop.example",
        "DELAYHUB_OWNER_URL": f"http://127.0.0.1:{told.posts.port}/alerts",
        "DELAYHUB_OWNER_SECRET": SECRET,
        "DELAYHUB_BREAKER_FAILURES": "5",
        "DELAYHUB_ALERT_CALM_SECONDS": "10",
    }
    with ExitStack() as stack:
        site = stack.enter_context(
            PreparedSite(SiteOptions(data_dir=tmp_path_factory.mktemp("site"), settings=settings))
        )
        second = second_web_server(site)
        stack.callback(second.stop)
        second.launch()
        second.wait_until_ready()
        yield site


def second_web_server(site: Site) -> Service:
    port = free_port()
    command = [*(sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port))]
    command += ["--http", "1", "--blocking-threads", "4", "--no-ws", "delayhub.project.wsgi:application"]
    return Service(
        "second web server",
        command=command,
        environment=site.environment,
        log=site.folder.logs / "second.log",
        is_ready=lambda: requests.get(f"http://127.0.0.1:{port}/livez", timeout=5).ok,
    )


@pytest.fixture(autouse=True)
def well(site: Site, told: Told) -> None:
    """Each test begins on a site that delivers, and without what was told before."""
    delivery = f"{site.url}/readyz"
    wait_until(lambda: requests.get(delivery, timeout=60).json()["delivery"] == "ok")
    told.forget()


def test_dead_workers_are_told_by_the_web_servers(site: Site, told: Told) -> None:
    site.worker.kill()
    told.wait_for("began", "not_delivering")

    site.worker.launch()
    told.wait_for("over", "not_delivering")

    assert told.posted() == [("began", "not_delivering"), ("over", "not_delivering")]
    assert [mail["To"] for mail in told.mail.mails] == ["owner@shop.example"] * 2
    assert told.mail.subjects[0] == "[DelayHub] No worker takes jobs: none is delivered. Start a worker."


def test_a_lost_redis_is_told_and_no_missing_worker_after_it(site: Site, told: Told) -> None:
    site.redis.kill()
    told.wait_for("began", "redis_away")

    site.redis.start()
    told.wait_for("over", "redis_away")

    assert told.posted() == [("began", "redis_away"), ("over", "redis_away")]


def test_a_lost_database_is_told_without_it_and_noted_afterwards(site: Site, told: Told, database: OwnPostgres) -> None:
    database.crash()
    told.wait_for("began", "database_away")

    database.start()
    told.wait_for("over", "database_away")

    assert told.posted() == [("began", "database_away"), ("over", "database_away")]


def test_a_broken_receiver_is_told_once_for_all_of_its_jobs(site: Site, told: Told) -> None:
    site.receiver.kill()
    jobs = [{"biz_type": "order.close", "biz_id": f"broken-{number}", "delay": 0, "body": {}} for number in range(50)]
    key = {"Authorization": f"Bearer {site.api_key}"}
    assert requests.post(f"{site.url}/api/v1/jobs/bulk", json={"jobs": jobs}, headers=key, timeout=60).ok
    told.wait_for("began", "breaker_open")

    site.receiver.launch()
    told.wait_for("over", "breaker_open", within_seconds=120)

    # Retries of the jobs may have used up their attempts by then: that is another alert.
    assert [each for each in told.posted() if each[1] != "dead"] == [
        ("began", "breaker_open"),
        ("over", "breaker_open"),
    ]
