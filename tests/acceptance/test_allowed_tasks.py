"""What a key that may write biz types can make a live worker run: on a site that allows as much as a setting can."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from delayhub.client import Client, Job
from delayhub.client.errors import InvalidRequest
from delayhub.demo.receiver import read_received
from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import Site, SiteOptions
from tests.kept_folder import PreparedSite
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

#: Makes a tenant, and for it and the default one a key that has every scope, which is printed. Stores biz types for
#: both as an earlier release, or SQL, would have: without any check.
PREPARE = """
import json
import sys
import django
django.setup()
from django.core.management import call_command
from tasksapp.models import BizType, Tenant
from tasksapp.models.api_key import Scope
Tenant.objects.create(code="beta")
scopes = [word for scope in Scope.values for word in ("--scope", scope)]
for tenant in ("beta", "default"):
    of = Tenant.objects.get(code=tenant)
    for code, (task, queue) in json.loads(sys.argv[1]).items():
        BizType.objects.create(tenant=of, code=code, target="celery", task_name=task, task_queue=queue)
    call_command("create_api_key", f"attacker-{tenant}", "--tenant", tenant, *scopes)
"""
TASKS = (
    "tasksapp.deliver", "tasksapp.run_task", "tasksapp.run_django_task", "celery.backend_cleanup", "celery.map",
    "celery.starmap", "celery.chunks", "celery.chain", "celery.group", "celery.chord_unlock",
)  # fmt: skip
QUEUES = ("delayhub.timers", "@pull:report", "celery@host.celery.pidbox", "celeryev.1")
#: By the code of a stored biz type, the task and the queue that it names.
STORED = {f"old-{task}".lower(): (task, "") for task in TASKS}
STORED |= {f"old-queue-{number}": ("shop.close", queue) for number, queue in enumerate(QUEUES)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    wide = {"DELAYHUB_ALLOWED_TASKS": "*,*/*", "DELAYHUB_ALLOWED_QUEUES": "*,*/*"}
    with PreparedSite(SiteOptions(data_dir=folder, settings=wide)) as site:
        yield site
        site.check()


@pytest.fixture(scope="module")
def keys(site: Site) -> dict[str, str]:
    command = [sys.executable, "-c", PREPARE, json.dumps(STORED)]
    done = subprocess.run(command, env=site.environment, capture_output=True, text=True, timeout=120, check=True)
    return dict(zip(("beta", "default"), done.stdout.split(), strict=True))


@pytest.fixture
def victim(site: Site) -> Job:
    """A job of another tenant, due tomorrow."""
    with Client(site.url, api_key=site.api_key) as api:
        return api.jobs.create(CLOSE_ORDER.code, delay=timedelta(days=1), body={"order_id": 1})


def body_for(task: str, victim: Job) -> Any:
    """A body with which the task would deliver the job, or run another task that does."""
    given = {"ids": [victim.id], "lane": "delayhub.timers", "now_ms": 4_102_444_800_000}
    inner = {"task": "tasksapp.deliver", "args": [], "kwargs": given}
    bodies: dict[str, Any] = {
        "tasksapp.deliver": given,
        "tasksapp.run_task": ["tasksapp.deliver"],
        "tasksapp.run_django_task": {"framework": "django.tasks", "backend": "default"},
        "celery.map": [inner, [[]]],
        "celery.starmap": [inner, [[]]],
        "celery.chunks": [inner, [[]], 1],
    }
    return bodies.get(task, [])


@pytest.mark.parametrize("tenant", ["beta", "default"])
def test_no_key_makes_a_worker_run_a_task_of_celerys_or_of_ours(
    site: Site, keys: dict[str, str], victim: Job, tenant: str
) -> None:
    with Client(site.url, api_key=keys[tenant]) as api:
        made = [
            api.jobs.create(code, body=body_for(task, victim), max_attempts=1) for code, (task, _) in STORED.items()
        ]
        wait_until(lambda: all(api.jobs.read(job.id).has_ended for job in made), otherwise=site.worker.log_tail)
        ended = {job.biz_type: api.jobs.read(job.id) for job in made}
        for task in TASKS:
            with pytest.raises(InvalidRequest, match="No job may run a task"):
                api.biz_types.create("attack", target="celery", task_name=task)
        for queue in QUEUES:
            with pytest.raises(InvalidRequest, match="No task may be sent to a queue"):
                api.biz_types.create("attack", target="celery", task_name="shop.close", task_queue=queue)
    with Client(site.url, api_key=site.api_key) as api:
        spared = api.jobs.read(victim.id)

    assert (spared.status, spared.attempts) == ("pending", 0)
    assert victim.id not in [callback.job_id for callback in read_received(site.folder.received)]
    assert {code: job.status for code, job in ended.items()} == dict.fromkeys(STORED, "dead")
    for code, (_, queue) in STORED.items():
        reason = "No task may be sent to a queue" if queue else "No job may run a task"
        assert ended[code].last_error.startswith(reason), ended[code]
