"""docs/jobs/mounting.md, done exactly as it says, in a bare project of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.repository import ROOT

PAGE = ROOT / "docs/jobs/mounting.md"
#: What a Django project has anyway.
BARE = """
SECRET_KEY = "a key for tests, as long as Django wants a key to be, and secret no longer"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "tasksapp"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "shop.urls"
CELERY_BROKER_URL = "delayhub://127.0.0.1:1/0"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:",
    "OPTIONS": {"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"}}}
"""
ASK = """
import json, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
import django
django.setup()
from django.core.management import call_command
from django.core.checks import run_checks
from django.test import Client
from django.urls import reverse
call_command("migrate", verbosity=0)
from tasksapp.models import BizType, Job
BizType.objects.create(code="order.close", url="https://shop.example/hooks")
client, answers = Client(raise_request_exception=False), []
for method, address, headers, body in json.load(sys.stdin):
    sent = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    answer = client.generic(method, "/internal/timeouts/" + address, headers=headers, **sent)
    answers.append([answer.status_code, dict(answer.headers), answer.content.decode()])
job = Job.objects.get()
print(json.dumps({
    "answers": answers, "by": job.created_by, "reversed": reverse("delayhub:job-detail", args=[job.pk]),
    "checks": [found.id for found in run_checks()],
}))
"""
BERLIN = {"x-shop-token": "token-of-berlin"}
REQUESTS: list[tuple[str, str, dict[str, str], Any]] = [
    ("POST", "v1/jobs", BERLIN, {"biz_type": "order.close", "delay": 60}),
    ("GET", "v1/jobs", BERLIN, None),
    ("POST", "v1/jobs", {"x-shop-token": "another"}, {"biz_type": "order.close"}),
    ("GET", "v1/jobs", {}, None),
    ("GET", "v1/biz-types", BERLIN, None),
    ("GET", "schema", BERLIN, None),
    ("GET", "v1/jobs", {**BERLIN, "host": "elsewhere.example"}, None),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a project made by the page answers."""
    folder = tmp_path_factory.mktemp("mounted")
    blocks = re.findall(r"```python\n# (shop/\w+\.py)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert [name for name, _ in blocks] == ["shop/urls.py", "shop/callers.py", "shop/settings.py"]
    (folder / "shop").mkdir()
    (folder / "shop" / "__init__.py").touch()
    for name, code in blocks:
        (folder / name).write_text((BARE if name == "shop/settings.py" else "") + code)
    (folder / "ask.py").write_text(ASK)
    ran = subprocess.run(
        [sys.executable, "ask.py"], input=json.dumps(REQUESTS), cwd=folder, capture_output=True, text=True, timeout=100,
        env={"PYTHONPATH": f"{folder}:{ROOT}", "PATH": str(Path(sys.executable).parent)}, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_callers_are_known_by_the_projects_own_class_and_may_do_what_their_scopes_say(project: Any) -> None:
    statuses = [status for status, _, _ in project["answers"]]

    assert statuses[:5] == [201, 200, 401, 401, 403]
    assert project["by"] == "api:berlin"
    assert project["answers"][3][1]["WWW-Authenticate"] == "Shop"
    assert json.loads(project["answers"][4][2])["scope"] == "biz-types:read"


def test_addresses_names_and_the_schema_are_below_the_prefix_and_its_own(project: Any) -> None:
    made, schema = project["answers"][0], json.loads(project["answers"][5][2])

    assert made[1]["Location"] == project["reversed"]
    assert project["reversed"].startswith("/internal/timeouts/v1/jobs/")
    assert schema["servers"][0]["url"] == "/internal/timeouts"
    assert all(path.startswith("/v1/") for path in schema["paths"])
    assert json.loads(project["answers"][3][2])["type"].startswith("/internal/timeouts/problems/")


def test_errors_outside_of_all_views_are_problems_and_the_checks_are_content(project: Any) -> None:
    status, headers, _ = project["answers"][6]

    assert (status, headers["Content-Type"]) == (400, "application/problem+json")
    assert {"delayhub.W010", "delayhub.E018", "delayhub.E002"}.isdisjoint(project["checks"])
