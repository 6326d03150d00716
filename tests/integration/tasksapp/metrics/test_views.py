"""The page that Prometheus scrapes."""

from __future__ import annotations

import gzip
import subprocess
from typing import Any

import pytest
from celery import Celery
from django.test import Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from tasksapp.metrics.views import site_collector
from tasksapp.models import BizType
from tests.prometheus_server import program

pytestmark = pytest.mark.django_db

TOKEN = "a-token-of-the-scraper"


@pytest.fixture(autouse=True)
def _token(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "METRICS_TOKENS": [TOKEN]}
    site_collector.forget()


def scrape(client: Client, **headers: str) -> Any:
    return client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}", **headers})


def test_without_a_token_nothing_is_read_and_the_answer_names_the_way_in(
    client: Client, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        answer = client.get("/metrics")

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="delayhub metrics"')
    assert b"delayhub_" not in answer.content


def test_prometheus_reads_both_formats(client: Client, biz_type: BizType, app: Celery) -> None:
    plain = scrape(client)
    opened = scrape(client, Accept="application/openmetrics-text;version=1.0.0")

    assert plain.headers["Content-Type"].startswith("text/plain; version=")
    assert opened.headers["Content-Type"].startswith("application/openmetrics-text")
    names = {family.name for family in text_format(plain.content.decode())}
    assert {"delayhub_jobs", "delayhub_attempts", "delayhub_queue_due", "delayhub_build_info"} <= names
    assert names == {family.name for family in open_metrics(opened.content.decode())}


def test_prometheus_own_tool_finds_nothing_wrong(client: Client, biz_type: BizType, app: Celery) -> None:
    done = subprocess.run(
        [program("promtool"), "check", "metrics"], input=scrape(client).content, capture_output=True, check=False
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_the_answer_is_packed_where_the_scraper_takes_that_and_never_stored(
    client: Client, biz_type: BizType, app: Celery
) -> None:
    answer = scrape(client, **{"Accept-Encoding": "gzip"})

    assert answer.headers["Content-Encoding"] == "gzip"
    assert b"delayhub_jobs{" in gzip.decompress(answer.content)
    assert "no-store" in answer.headers["Cache-Control"]


def test_while_another_scrape_hangs_it_says_when_to_come_again(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasksapp.metrics.collector.WAIT_SECONDS", 0.01)
    with site_collector._lock:
        answer = scrape(client)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")


def test_it_only_reads(client: Client) -> None:
    assert client.post("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405
