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
from tests.migrated_file import put_migrated_file
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

#: Makes a tenant, and prints a key of it and one of the default tenant; each has every scope.
KEYS = """
import django
django.setup()
from django.core.management import call_command
from tasksapp.models import Tenant
from tasksapp.models.api_key import Scope
Tenant.objects.create(code="beta")
scopes = [word for scope in Scope.values for word in ("--scope", scope)]
for tenant in ("beta", "default"):
    call_command("create_api_key", f"attacker-{tenant}", "--tenant", tenant, *scopes)
"""
#: Stores biz types as an earlier release, or SQL, would have: without any check.
STORED = """
import json
import sys
import django
django.setup()
from tasksapp.models import BizType, Tenant
of = Tenant.objects.get(code=sys.argv[1])
for code, (task, queue) in json.loads(sys.argv[2]).items():
    BizType.objects.create(tenant=of, code=code, target="celery", task_name=task, task_queue=queue)
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    put_migrated_file(folder)
    wide = {"DELAYHUB_ALLOWED_TASKS": "*,*/*", "DELAYHUB_ALLOWED_QUEUES": "*,*/*"}
    with Site(SiteOptions(data_dir=folder, settings=wide)) as site:
        yield site
        site.check()


@pytest.fixture(scope="module")
def keys(site: Site) -> dict[str, str]:
    return dict(zip(("beta", "default"), run(site, KEYS), strict=True))


def run(site: Site, program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, env=site.environment, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.split()


@pytest.fixture
def victim(site: Site) -> Job:
    """A job of another tenant, due tomorrow."""
    with Client(site.url, api_key=site.api_key) as api:
        return api.jobs.create(CLOSE_ORDER.code, delay=timedelta(days=1), body={"order_id": 1})


def bodies(victim: Job) -> dict[str, Any]:
    """By the name of a task, the body with which it would deliver the job, or run another task."""
    given = {"ids": [victim.id], "lane": "delayhub.timers", "now_ms": 4_102_444_800_000}
    inner = {"task": "tasksapp.deliver", "args": [], "kwargs": given}
    return {
        "tasksapp.deliver": given,
        "tasksapp.run_task": ["tasksapp.deliver"],
        "tasksapp.run_django_task": {"framework": "django.tasks", "backend": "default"},
        "celery.backend_cleanup": {},
        "celery.map": [inner, [[]]],
        "celery.starmap": [inner, [[]]],
        "celery.chunks": [inner, [[]], 1],
        "celery.chain": [],
        "celery.group": [],
        "celery.chord_unlock": [],
    }


@pytest.mark.parametrize("tenant", ["beta", "default"])
def test_no_key_makes_a_biz_type_that_runs_a_task_of_celerys_or_of_ours(
    site: Site, keys: dict[str, str], victim: Job, tenant: str
) -> None:
    with Client(site.url, api_key=keys[tenant]) as api:
        for number, task in enumerate(bodies(victim)):
            with pytest.raises(InvalidRequest, match="No job may run a task"):
                api.biz_types.create(f"attack-{number}", target="celery", task_name=task)
        for queue in ("delayhub.timers", "@pull:report", "celery@host.celery.pidbox", "celeryev.1"):
            with pytest.raises(InvalidRequest, match="No task may be sent to a queue"):
                api.biz_types.create("attack-queue", target="celery", task_name="shop.close", task_queue=queue)


@pytest.mark.parametrize("tenant", ["beta", "default"])
def test_what_was_stored_before_is_refused_with_the_reason_and_runs_nothing(
    site: Site, keys: dict[str, str], victim: Job, tenant: str
) -> None:
    attacks = {f"old-{number}": (task, "") for number, task in enumerate(bodies(victim))}
    attacks |= {"old-queue": ("shop.close", "delayhub.timers"), "old-pidbox": ("shop.close", "x.pidbox")}
    run(site, STORED, tenant, json.dumps(attacks))

    with Client(site.url, api_key=keys[tenant]) as api:
        given = {code: bodies(victim).get(task) for code, (task, _) in attacks.items()}
        made = [api.jobs.create(code, body=body, max_attempts=1) for code, body in given.items()]
        wait_until(lambda: all(api.jobs.read(job.id).has_ended for job in made), otherwise=site.worker.log_tail)
        ended = [api.jobs.read(job.id) for job in made]
    with Client(site.url, api_key=site.api_key) as api:
        spared = api.jobs.read(victim.id)

    assert {job.status for job in ended} == {"dead"}
    assert all("No job may run a task" in job.last_error for job in ended[: len(bodies(victim))]), ended
    assert all("No task may be sent to a queue" in job.last_error for job in ended[len(bodies(victim)) :]), ended
    assert spared.status == "pending"
    assert victim.id not in [callback.job_id for callback in read_received(site.folder.received)]
