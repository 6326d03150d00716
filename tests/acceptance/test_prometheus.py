"""A real Prometheus scrapes a live site: its numbers are those of the jobs, and the shipped alerts fire."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import cached_property

import pytest
import requests
import yaml

from delayhub.demo.scenario import plan
from delayhub.demo.site import Site, SiteOptions
from delayhub.local.service import Service
from tests.acceptance.site import SHORT_LEASES, create_on, jobs_on, soon, wait_until_all_ended
from tests.kept_folder import PreparedSite
from tests.own_postgres import OwnPostgres
from tests.prometheus_server import SHIPPED, PrometheusServer, program, without_variables
from tests.waiting import wait_until
from tests.web_server import second_web_server

# By day: the counters of all processes are rows (metrics/test_job_numbers_totals.py), Prometheus' own tool reads the
# page (metrics/test_views.py), the rules and the board's queries (tests/house/test_monitoring_files.py).
pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(400)]

TOKEN = "the-token-of-a-test-scraper"


@pytest.fixture(scope="module")
def database() -> Iterator[OwnPostgres]:
    program("prometheus")
    server = OwnPostgres()
    yield server
    server.close()


class PreforkSite(PreparedSite):
    """A site whose worker runs tasks in two processes of its own."""

    @cached_property
    def worker(self) -> Service:
        worker = super().worker
        for option, wanted in (("--pool", "prefork"), ("--concurrency", "2")):
            worker.command[worker.command.index(option) + 1] = wanted
        return worker


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, database: OwnPostgres) -> Iterator[Site]:
    """One site for all tests: each leaves it up and running."""
    settings = {**SHORT_LEASES, "DELAYHUB_METRICS_TOKENS": TOKEN, "DELAYHUB_DATABASE_URL": database.url}
    with PreforkSite(SiteOptions(data_dir=tmp_path_factory.mktemp("site"), settings=settings)) as site:
        yield site


@pytest.fixture(scope="module")
def prometheus(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    """A Prometheus that scrapes two web processes of the site."""
    with second_web_server(site.environment, folder=tmp_path_factory.mktemp("web")) as port:
        targets = [f"127.0.0.1:{site.web_port}", f"127.0.0.1:{port}"]
        folder = tmp_path_factory.mktemp("prometheus")
        with PrometheusServer(folder, targets=targets, token=TOKEN) as server:
            wait_until(
                lambda: server.value('min(delayhub_delivery_state{state="ok"})') == 1,
                otherwise=server.troubles,
            )
            yield server


def test_all_web_processes_say_the_same_of_what_prefork_workers_did(site: Site, prometheus: PrometheusServer) -> None:
    before = prometheus.value("max(sum by (instance) (delayhub_attempts_total))") or 0
    created = create_on(site, plan(jobs=40, seconds=1, now=soon(), run="prefork"))
    wait_until_all_ended(site, created)
    attempts = sum(job.attempts for job in jobs_on(site, created).values())

    # Counts are written every ten seconds, and read again after three.
    wait_until(
        lambda: prometheus.value("min(sum by (instance) (delayhub_attempts_total))") == before + attempts,
        otherwise=lambda: str(prometheus.query("sum by (instance) (delayhub_attempts_total)")),
    )
    assert prometheus.value("max(sum by (instance) (delayhub_attempts_total))") == before + attempts
    assert prometheus.value("max(sum by (instance) (delayhub_attempt_lateness_seconds_count))") == before + attempts
    # A counter that fell for a moment would be a reset, and a burst of attempts that never were.
    assert prometheus.value("sum(resets(delayhub_attempts_total[5m]))") == 0


def test_every_query_of_the_board_and_of_the_rules_is_taken_and_their_metrics_are_there(
    prometheus: PrometheusServer,
) -> None:
    board = json.loads((SHIPPED / "grafana.json").read_text())
    rules = yaml.safe_load((SHIPPED / "alerts.yml").read_text())["groups"][0]["rules"]
    queries = {target["expr"] for panel in board["panels"] for target in panel.get("targets", ())}

    for query in {*queries, *(rule["expr"] for rule in rules)}:
        prometheus.query(without_variables(query))

    assert {
        "delayhub_jobs",
        "delayhub_jobs_created_total",
        "delayhub_attempt_lateness_seconds_bucket",
        "delayhub_queue_late_seconds",
        "delayhub_lane_claim_age_seconds",
        "delayhub_breaker_open",
    } <= prometheus.names()


def test_prometheus_tool_finds_nothing_wrong_with_what_the_site_serves(
    site: Site, prometheus: PrometheusServer
) -> None:
    served = requests.get(f"{site.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)

    done = subprocess.run(
        [program("promtool"), "check", "metrics"], input=served.content, capture_output=True, check=False
    )

    assert served.status_code == 200
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_alerts_fire_when_no_worker_runs_and_when_redis_is_away_and_end_afterwards(
    site: Site, prometheus: PrometheusServer
) -> None:
    of_the_site = {"DelayHubNoWorkerDelivers", "DelayHubNoLoader", "DelayHubRedisAway", "DelayHubDatabaseAway"}
    wait_until(
        lambda: not prometheus.firing() & of_the_site and not prometheus.troubles(),
        otherwise=lambda: (prometheus.firing(), prometheus.troubles()),
    )

    site.worker.kill()
    wait_until(lambda: "DelayHubNoWorkerDelivers" in prometheus.firing())

    site.redis.kill()
    try:
        wait_until(lambda: "DelayHubRedisAway" in prometheus.firing())
        assert "DelayHubNotScraped" not in prometheus.firing()  # the scrape works without Redis
    finally:
        site.redis.start()

    site.worker.launch()
    wait_until(
        lambda: not prometheus.firing() & of_the_site,
        otherwise=prometheus.firing,
    )


def test_an_alert_fires_while_the_database_is_away(
    site: Site, prometheus: PrometheusServer, database: OwnPostgres
) -> None:
    database.crash()
    try:
        wait_until(lambda: "DelayHubDatabaseAway" in prometheus.firing())
        assert prometheus.troubles() == []  # the scrape works without the database
    finally:
        database.start()

    wait_until(lambda: "DelayHubDatabaseAway" not in prometheus.firing())


def test_jobs_that_die_fire_an_alert_that_names_their_biz_type(site: Site, prometheus: PrometheusServer) -> None:
    planned = [job for job in plan(jobs=20, seconds=1, now=soon(), run="dying") if not job.biz_type.succeeds]
    created = create_on(site, planned)
    wait_until_all_ended(site, created)

    wait_until(lambda: "DelayHubJobsDie" in prometheus.firing())

    [alert] = prometheus.query('ALERTS{alertname="DelayHubJobsDie"}')
    assert alert["metric"]["biz_type"] == planned[0].biz_type.code
    assert alert["metric"]["tenant"] == "default"
