"""The exporter's pages."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from threading import Thread

import pytest
from celery import Celery

from delayhub.celery_support.exporter import Exporter

Get = Callable[[str], tuple[int, str]]


@pytest.fixture
def get(app: Celery) -> Iterator[Get]:
    """Gets a page of an exporter of the app: its status and text."""
    with Exporter(app.control, host="127.0.0.1", port=0) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def get(path: str) -> tuple[int, str]:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}", timeout=60) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as refused:
                with refused:
                    return refused.code, refused.read().decode()

        yield get
        server.shutdown()
        thread.join(60)


def test_prometheus_gets_every_queue(app: Celery, get: Get) -> None:
    app.send_task("shop.close", queue="reports")

    status, text = get("/metrics")

    assert status == 200
    assert 'delayhub_queue_due{queue="reports"} 1' in text.splitlines()
    assert 'delayhub_queue_due{queue="celery"} 0' in text.splitlines()


def test_an_autoscaler_gets_one_queue_or_all(app: Celery, get: Get) -> None:
    app.send_task("shop.close", countdown=1000, queue="a/b")

    assert json.loads(get("/queues/a%2Fb")[1]) == {
        "waiting": 1,
        "due": 0,
        "leased": 0,
        "dead": 0,
        "late_seconds": 0.0,
        "parked": 0,
        "healed": 0,
    }
    assert json.loads(get("/queues")[1]).keys() == {"a/b", "celery"}


@pytest.mark.parametrize("path", ["/", "/queues/a%00b"])
def test_another_path_says_what_is_there(get: Get, path: str) -> None:
    status, text = get(path)

    assert status == 404
    assert "/metrics" in text


def test_a_redis_that_is_away_is_said_and_no_zero(app: Celery, get: Get) -> None:
    app.conf.update(broker_url="delayhub://127.0.0.1:1/0", broker_transport_options={"max_retries": 0})

    status, text = get("/metrics")

    assert status == 503
    assert "Redis could not be asked" in text
