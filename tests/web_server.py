"""The ready-made project's web server in a process of its own, with a database, an API key and a biz type."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from delayhub.local.redis_server import free_port
from delayhub.local.service import Service
from tests.kept_folder import put_kept_folder
from tests.repository import ROOT

#: The API key of a prepared database, and the code of its biz type.
KEY = "dh_a-key-that-only-tests-know"
BIZ_TYPE = "order.close"

_PREPARE = f"""
import django
django.setup()
from django.core.management import call_command
call_command("migrate", interactive=False, verbosity=0)
from tasksapp.access.keys import issue_key
from tasksapp.models import BizType
from tasksapp.models.api_key import Scope
issue_key("tests", key={KEY!r}, scopes=Scope.values)
BizType.objects.create(code={BIZ_TYPE!r}, url="https://shop.example/hooks")
"""


class Asked(NamedTuple):
    """An answer of the API: its status, its JSON (None where it has none) and its headers."""

    status: int
    json: Any
    headers: Any


def asked(port: int, method: str, path: str, body: Any = None, *, key: str = KEY, **headers: str) -> Asked:
    """The answer to a request: method, path below /api/v1, JSON body."""
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1{path}", data, sent, method=method)
    try:
        answer: Any = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        raw = answer.read()
        return Asked(answer.status, json.loads(raw) if raw else None, answer.headers)


def prepare_database(folder: Path, **variables: str) -> None:
    """Makes the tables, the API key and the biz type in the database of that data folder."""

    def prepare(there: Path) -> None:
        command = [sys.executable, "-c", _PREPARE]
        subprocess.run(command, cwd=ROOT, env=environment_of(there, **variables), check=True, timeout=120)

    if variables or not put_kept_folder(folder, "web", prepare):
        prepare(folder)


@contextmanager
def web_server(
    folder: Path, *, interface: str = "wsgi", http: str = "1", threads: int = 4, **variables: str
) -> Iterator[int]:
    """Runs granian on the project with that data folder; gives its port.

    Args:
        folder: its data folder.
        interface: ``wsgi`` or ``asgi``.
        http: ``1``, as a site starts it, or ``auto``, for HTTP/2 as well.
        threads: how many requests it answers at once.
        variables: more of its environment.
    """
    port = free_port()
    options = [*(("--blocking-threads", str(threads)) if interface == "wsgi" else ()), "--http", http]
    with _granian(
        port, interface, *options, environment=environment_of(folder, **variables), log=folder / f"{interface}.log"
    ):
        yield port


@contextmanager
def second_web_server(environment: Mapping[str, str], *, folder: Path) -> Iterator[int]:
    """Runs another web process of a site that runs; gives its port.

    Args:
        environment: that of the site's processes.
        folder: where its log goes.
    """
    port = free_port()
    options = ("--blocking-threads", "4", "--http", "1")
    with _granian(port, "wsgi", *options, environment=environment, log=folder / "wsgi.log"):
        yield port


@contextmanager
def _granian(port: int, interface: str, *options: str, environment: Mapping[str, str], log: Path) -> Iterator[None]:
    def answers() -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5) as answer:
            return bool(answer.status == 200)

    service = Service(
        "web server",
        command=[
            *(sys.executable, "-m", "granian", "--interface", interface, "--host", "127.0.0.1", "--port", str(port)),
            *(*options, "--no-ws", f"delayhub.project.{interface}:application"),
        ],
        environment=environment,
        log=log,
        is_ready=answers,
    )
    service.launch()
    try:
        service.wait_until_ready()
        yield
    finally:
        service.stop()


def environment_of(folder: Path, **variables: str) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("DELAYHUB_")}
    return {
        **others,
        "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
        "DELAYHUB_DATA_DIR": str(folder),
        # Nothing listens there: jobs are created without Redis too.
        "DELAYHUB_BROKER_URL": "delayhub://127.0.0.1:1/0",
        "DELAYHUB_SITE_URL": "https://delayhub.example",
        **variables,
    }
