"""What ``django.setup()`` and ``import delayhub`` load: every command, web process and worker pays at each start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

#: What serves some request, opens a secret, sends a callback or starts a service, and is loaded by that.
NOT_AT_START = {
    "aiohttp",
    "cryptography.hazmat",
    "drf_spectacular",
    "granian",
    "httpx",
    "prometheus_client",
    "psycopg",
    "standardwebhooks",
    "uvloop",
}
#: What a project that knows no Celery app does not load either. Of ours: what serves requests, sets timers, runs jobs.
NOT_WITHOUT_CELERY = {
    "celery",
    "delayhub.engine",
    "delayhub.transport",
    "kombu",
    "opentelemetry",
    "redis",
    "tasksapp.admin.jobs.job_admin",
    "tasksapp.jobs",
    "tasksapp.sql",
    "tasksapp.timers",
    "tasksapp.workers",
}
#: What a worker loads when it starts.
OF_WORKERS = {
    "tasksapp.task_backends.declared_series",
    "tasksapp.task_backends.job_backend",
    "tasksapp.task_backends.task_biz_type",
    "tasksapp.workers.biz_type_report",
    "tasksapp.workers.timer_queues",
}
SET_UP = "import django; django.setup()"
APPS = [f"django.contrib.{name}" for name in ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")]
OURS = ["rest_framework", "drf_spectacular", "tasksapp"]
#: Last, since the peak of memory is that of the whole process. ``ru_maxrss`` would be at least that of the tests, from
#: which the process was forked.
TELL = """
import resource, sys
used = resource.getrusage(resource.RUSAGE_SELF)
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")]
print(used.ru_utime + used.ru_stime, peak, *sys.modules)
"""
#: How often a multiple of CPU is measured, until it is within its bound: on a shared machine one of the same code was
#: 1.30 and 1.57 within a minute.
TAKES = 4
#: What ``django.setup()`` may take with the app, in multiples of what it takes without: some 1.35 and 1.09 measured.
MOST_CPU, MOST_MEMORY = 1.46, 1.2
#: What ``import delayhub`` may take beyond ``import kombu``, in shares of a ``django.setup()`` without the app: 40 ms
#: where that takes 480.
MOST_OF_IMPORT = 40 / 480


class Start(NamedTuple):
    """What a new Python process took: seconds of CPU, the most memory (KB), and the modules that it loaded."""

    cpu: float
    memory: int
    loaded: set[str]


def set_up(apps: list[str]) -> str:
    """``django.setup()`` of a project with these apps, and nothing else of its own."""
    database = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
    given = f"INSTALLED_APPS={apps!r}, DATABASES={database!r}, SECRET_KEY='of a test', USE_TZ=True"
    return f"from django.conf import settings; settings.configure({given}); {SET_UP}"


def start(code: str, **environment: str) -> Start:
    command = [sys.executable, "-c", f"{code}\n{TELL}"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    cpu, memory, *modules = said.stdout.split()
    return Start(float(cpu), int(memory), set(modules))


def least(*codes: str) -> list[Start]:
    """The cheapest start of each code out of seven rounds in turns, since a busy machine is not so all the time."""
    rounds = [[start(code) for code in codes] for _ in range(7)]
    return [min(starts, key=lambda each: each.cpu) for starts in zip(*rounds, strict=True)]


@pytest.fixture
def project(tmp_path: Path) -> dict[str, str]:
    settings = {"DJANGO_SETTINGS_MODULE": "delayhub.project.settings", "DELAYHUB_DATA_DIR": str(tmp_path)}
    return {**settings, "DELAYHUB_DEBUG": "1"}


def test_what_only_some_processes_need_is_not_loaded_when_django_is_set_up(project: dict[str, str]) -> None:
    loaded = start(SET_UP, **project).loaded

    assert {"django", "tasksapp"} <= loaded
    assert loaded & NOT_AT_START == set()


def test_a_project_that_knows_no_celery_app_loads_neither_celery_nor_redis() -> None:
    loaded = start(set_up([*APPS, *OURS])).loaded

    assert {"tasksapp.models", "tasksapp.admin"} <= loaded
    assert loaded & (NOT_AT_START - {*OURS} | NOT_WITHOUT_CELERY) == set()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_worker_loads_what_it_needs_whichever_of_celery_and_django_comes_first(is_first: bool) -> None:
    imported, then = "from celery import Celery, signals", set_up([*APPS, *OURS])
    worker = """
from types import SimpleNamespace
app = Celery("shop", broker="delayhub://127.0.0.1:1/0")
signals.celeryd_init.send(sender="w", instance=SimpleNamespace(app=app), options={})
assert "delayhub.timers" in app.amqp.queues.consume_from
assert {"tasksapp.deliver", "tasksapp.run_django_task"} <= set(app.tasks), sorted(app.tasks)
"""

    loaded = start("\n".join([imported, then, worker] if is_first else [then, imported, worker])).loaded

    assert loaded >= OF_WORKERS


def test_a_worker_of_a_test_which_announces_no_beginning_loads_them_too() -> None:
    worker = "from celery import signals; signals.worker_init.send(sender=None)"

    loaded = start(f"{set_up([*APPS, *OURS])}\n{worker}").loaded

    assert loaded >= OF_WORKERS


@pytest.mark.parametrize("interface", ["wsgi", "asgi"])
def test_the_first_request_of_a_web_server_loads_no_views(project: dict[str, str], interface: str) -> None:
    loaded = start(f"import delayhub.project.{interface}", **project).loaded

    assert {"tasksapp.admin.jobs.job_admin", "tasksapp.api.urls", "tasksapp.jobs.verbs"} <= loaded


@pytest.mark.timing
def test_a_start_stays_within_its_multiple_of_a_start_of_django_alone() -> None:
    takes: list[float] = []
    while not takes or (takes[-1] >= MOST_CPU and len(takes) < TAKES):
        bare, ours = least(set_up(APPS), set_up([*APPS, *OURS]))
        takes.append(ours.cpu / bare.cpu)

    assert takes[-1] < MOST_CPU, takes
    assert ours.memory / bare.memory < MOST_MEMORY


@pytest.mark.timing
def test_the_import_of_delayhub_costs_little_and_loads_nothing_that_it_may_not_need() -> None:
    takes: list[float] = []
    while not takes or (takes[-1] >= MOST_OF_IMPORT and len(takes) < TAKES):
        bare, kombu, ours = least(set_up(APPS), "import kombu", "import delayhub")
        takes.append((ours.cpu - kombu.cpu) / bare.cpu)

    assert ours.loaded & {"aiohttp", "celery", "django", "kombu", "redis", "tasksapp"} == set()
    assert takes[-1] < MOST_OF_IMPORT, takes
