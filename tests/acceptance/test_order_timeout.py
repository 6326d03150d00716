"""The example in ``examples/order_timeout``, with real processes."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from delayhub.local.redis_server import RedisServer
from delayhub.local.service import Service
from tests.acceptance.celery_worker import worker_service
from tests.healing import what_was_healed
from tests.migrated_file import put_kept_file
from tests.repository import ROOT
from tests.waiting import wait_until

SHOP = ROOT / "examples" / "order_timeout"


@pytest.fixture(scope="module")
def environment(redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """That of the shop's processes; its tables are made, and its Redis is empty."""
    own = {
        "SHOP_REDIS": f"127.0.0.1:{redis_server.port}",
        "SHOP_DATABASE": str(tmp_path_factory.mktemp("shop") / "shop.sqlite3"),
        "SHOP_ORDER_TIMEOUT_SECONDS": "2",
        "DJANGO_SETTINGS_MODULE": "shop.settings",
        "PYTHONPATH": os.pathsep.join([str(SHOP), os.environ["PYTHONPATH"]]),
    }
    environment = {**os.environ, **own}

    def migrate(database: Path) -> None:
        manage({**environment, "SHOP_DATABASE": str(database)}, "migrate", "--verbosity", "0")

    put_kept_file(Path(own["SHOP_DATABASE"]), migrate)
    with redis_server.client() as client:
        client.flushall()
        yield environment
        assert what_was_healed(client) == {}


@pytest.fixture(scope="module")
def worker(environment: dict[str, str]) -> Iterator[Service]:
    """One for both tests: each leaves it running."""
    folder = Path(environment["SHOP_DATABASE"]).parent
    with worker_service("shop", environment, "--pool", "threads", folder=folder) as service:
        yield service


def manage(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, str(SHOP / "manage.py"), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(environment: dict[str, str], query: str) -> list[tuple[str, ...]]:
    database = sqlite3.connect(environment["SHOP_DATABASE"])
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def test_an_unpaid_order_closes_by_itself_and_a_paid_one_does_not(environment: dict[str, str], worker: Service) -> None:
    unpaid = manage(environment, "place_order", "a lamp")
    paid = manage(environment, "place_order", "a chair", "--pay")
    assert "(unpaid)" in unpaid
    assert "(paid)" in paid

    jobs = "SELECT biz_id, status FROM delayhub_job ORDER BY biz_id"
    wait_until(
        lambda: {status for _, status in rows(environment, jobs)} == {"succeeded"},
        otherwise=lambda: f"{rows(environment, jobs)}\n{worker.log_tail()}",
    )

    assert rows(environment, "SELECT item, status FROM orders_order ORDER BY item") == [
        ("a chair", "paid"),
        ("a lamp", "closed"),
    ]
    assert [biz_id for biz_id, _ in rows(environment, jobs)] == ["order-1", "order-2"]


@pytest.mark.nightly  # by day: test_kills.py
def test_an_order_placed_while_no_worker_runs_closes_when_one_is_back(
    environment: dict[str, str], worker: Service
) -> None:
    worker.stop()
    manage(environment, "place_order", "a table")
    worker.launch()

    orders = "SELECT status FROM orders_order WHERE item = 'a table'"
    wait_until(
        lambda: rows(environment, orders) == [("closed",)],
        otherwise=lambda: f"{rows(environment, orders)}\n{worker.log_tail()}",
    )
