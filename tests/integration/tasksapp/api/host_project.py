"""A bare Django project that includes the API below a prefix of its own, in a process of its own.

``asked_of_a_host({"REST_FRAMEWORK": …}, [("GET", "v1/jobs", {}), …])`` gives what each request was answered, and what
``manage.py check`` says. Nothing is installed but ``tasksapp``; the settings are Django's, and those that are given.
"""

from __future__ import annotations

import io
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import django
from django.conf import settings

from tests.migrated_file import kept_file
from tests.repository import ROOT

PREFIX = "/internal/delay/"
SETTINGS: dict[str, Any] = {
    "SECRET_KEY": "a key for tests, as long as Django wants a key to be, and secret no longer",
    "INSTALLED_APPS": ["tasksapp"],
    "MIDDLEWARE": ["django.middleware.common.CommonMiddleware"],
    "ALLOWED_HOSTS": ["testserver"],
    "DATABASES": {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": ":memory:",
            "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        }
    },
    "CELERY_BROKER_URL": "delayhub://127.0.0.1:1/0",
    "LOGGING_CONFIG": None,
    "ROOT_URLCONF": "tests.integration.tasksapp.api.host_urls",
}


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


class Host(NamedTuple):
    """What the project said."""

    answers: list[Answer]
    checks: list[list[str]]
    complaints: str


def asked_of_a_host(given: dict[str, Any], requests: list[tuple[str, str, dict[str, str]]]) -> Host:
    """The answers to requests (method, address, headers) in a project with those settings.

    An address without a slash in front is below the prefix. ``{key}`` in a header is a caller's API key.
    """
    process = subprocess.run(
        [sys.executable, "-m", "tests.integration.tasksapp.api.host_project"],
        input=json.dumps([given, requests]), cwd=ROOT, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    answers, found = json.loads(process.stdout)
    return Host([Answer(*answer) for answer in answers], found, process.stderr)


def serve() -> None:
    """Reads settings and requests, writes answers and the findings of the system checks."""
    given, requests = json.load(sys.stdin)
    settings.configure(**{**SETTINGS, **given})
    django.setup()
    from django.core import checks
    from django.test import Client

    from tasksapp.access.keys import issue_key

    bring_tables()
    key = issue_key("host").key
    client = Client(raise_request_exception=False)
    answers = []
    for method, address, headers in requests:
        where = address if address.startswith("/") else PREFIX + address
        sent = {name: value.format(key=key) for name, value in headers.items()}
        answer = client.generic(method, where, headers=sent)
        answers.append((answer.status_code, dict(answer.headers), answer.content.decode(errors="replace")))
    found = [[finding.id, finding.hint] for finding in checks.run_checks()]
    json.dump([answers, found], sys.stdout)


def bring_tables() -> None:
    """Fills the database in memory with what ``migrate`` makes; once in a run for projects of the same apps."""
    from django.core.management import call_command
    from django.db import connection

    def migrate(path: Path) -> None:
        call_command("migrate", verbosity=0, stdout=io.StringIO())
        with closing(sqlite3.connect(path)) as file:
            connection.connection.backup(file)

    apps = ",".join(sorted(settings.INSTALLED_APPS))
    made = kept_file(f"host-{crc32(apps.encode()):08x}", migrate)
    assert made is not None, "hosts are asked by tests"
    connection.ensure_connection()
    with closing(sqlite3.connect(made)) as file:
        file.backup(connection.connection)


if __name__ == "__main__":
    serve()
