"""The site that histories are played on: web processes, a worker, Redis, a database; each a real process."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from delayhub.local.redis_server import RedisServer, free_port
from delayhub.local.service import Service
from proof.order.job import MOST_ATTEMPTS
from tests.fuzz import database_url
from tests.repository import ROOT
from tests.web_server import BIZ_TYPE, KEY, environment_of, prepare_database

#: Web processes, and threads of each: on SQLite and for mistakes one writes at a time all the same.
WEB_PROCESSES, WEB_THREADS = 2, 4
#: An attempt after a failed one is not due in a history.
LATER_SECONDS = 3600

#: How long until all web processes know that a biz type has been resolved for once: then creates look for tombstones.
SOON_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class OrderSite:
    """A site that runs.

    Args:
        addresses: of its web processes.
    """

    addresses: tuple[str, ...]


@contextmanager
def order_site(
    database: str, *, receiver_port: int, processes: int = WEB_PROCESSES, mistake: str = ""
) -> Iterator[OrderSite]:
    """Runs one, with an empty database.

    Args:
        database: ``sqlite`` or ``postgresql``.
        receiver_port: where its callbacks go, on this machine.
        processes: how many web processes it has.
        mistake: the name of one in ``proof.order.mistakes`` that its web processes are to have.
    """
    with ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="delayhub-order-")))
        server = ending.enter_context(RedisServer())
        url = ending.enter_context(database_url(database))
        variables = {
            "DELAYHUB_BROKER_URL": server.url.replace("redis://", "delayhub://"),
            "DELAYHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
            "DELAYHUB_BREAKER_FAILURES": "100000",
            "DELAYHUB_LOG_LEVEL": "WARNING",
            "SKIP_CHECKS": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
            **({"DELAYHUB_DATABASE_URL": url} if url else {}),
        }
        # A file needs nothing that differs from what other tests prepare, who keep a copy.
        prepare_database(folder, **(variables if url else {}))
        environment = environment_of(folder, **variables)
        application = "proof.order.mistaken" if mistake else "delayhub.project.wsgi"
        environment["MISTAKE"] = mistake
        addresses = []
        for number in range(processes):
            port = free_port()
            words = [*("granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port), "--http", "1")]
            words += ["--blocking-threads", str(WEB_THREADS), "--no-ws", f"{application}:application"]
            ending.enter_context(
                _running(f"web{number}", words, folder, environment, ready=f"http://127.0.0.1:{port}/livez")
            )
            addresses.append(f"http://127.0.0.1:{port}")
        words = ["celery", "-A", "delayhub.project", "worker", "-P", "solo", "--without-gossip", "--without-mingle"]
        ending.enter_context(_running("worker", words, folder, environment))
        _prepare(addresses[0], receiver_port)
        yield OrderSite(tuple(addresses))


def _prepare(address: str, receiver_port: int) -> None:
    """Lets the biz type call the receiver, and lays the first tombstone."""
    fields = {
        "url": f"http://127.0.0.1:{receiver_port}/", "max_attempts": MOST_ATTEMPTS, "timeout_seconds": 20,
        "backoff": "fixed", "backoff_min_seconds": LATER_SECONDS, "backoff_max_seconds": LATER_SECONDS, "jitter": 0,
    }  # fmt: skip
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"{address}/api/v1", headers=headers, timeout=60, verify=False, trust_env=False) as http:
        http.patch(f"/biz-types/{BIZ_TYPE}", json=fields, headers={"If-Match": "*"}).raise_for_status()
        http.post("/resolve", json={"biz_types": [BIZ_TYPE], "biz_id": "the first one"}).raise_for_status()
    time.sleep(SOON_SECONDS)


@contextmanager
def _running(
    name: str, words: list[str], folder: Path, environment: Mapping[str, str], *, ready: str = ""
) -> Iterator[None]:
    """A process of Python's; a worker is ready when it has run the first job, so nothing waits for it here."""

    def answers() -> bool:
        if not ready:
            return True
        with urllib.request.urlopen(ready, timeout=5) as answer:
            return bool(answer.status == 200)

    command = [sys.executable, "-m", *words]
    service = Service(name, command=command, environment=environment, log=folder / f"{name}.log", is_ready=answers)
    service.launch()
    with ExitStack() as ending:
        ending.callback(service.stop)
        service.wait_until_ready()
        yield
