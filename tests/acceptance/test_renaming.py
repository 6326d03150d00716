"""A biz type gets another code while a worker runs and jobs wait."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from delayhub.clock import SystemClock
from delayhub.demo.receiver import read_received
from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import Site
from tests.acceptance.site import site_in
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import django
django.setup()
from tasksapp import jobs
from tasksapp.biz_types import verbs
from tasksapp.errors import UnknownBizType
from tasksapp.models import BizType

old, delay = sys.argv[1], float(sys.argv[2])
print(jobs.create(old, delay=delay).job_id)
biz_type = BizType.objects.get(code=old)
biz_type.code = "renamed"
verbs.edit(biz_type, {"code"})
print(jobs.create("renamed", delay=delay).job_id)
try:
    jobs.create(old)
except UnknownBizType as error:
    print(error)
"""


def run(site: Site, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(command, env=site.environment, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


@pytest.mark.nightly  # by day: tests/integration/tasksapp/biz_types/test_verbs_rename.py
def test_jobs_from_before_and_after_fire_once_and_in_time(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        before, after, refusal = run(site, CLOSE_ORDER.code, "3")
        made_ms = SystemClock().now_ms()

        def fired() -> list[str]:
            return [callback.job_id for callback in read_received(site.folder.received)]

        wait_until(lambda: {before, after} <= set(fired()), otherwise=site.worker.log_tail)
        at_ms = [callback.at_ms for callback in read_received(site.folder.received)]

    assert sorted(fired()) == sorted([before, after])
    assert all(at - made_ms < 30_000 for at in at_ms)
    assert refusal == f"there is no biz type '{CLOSE_ORDER.code}'"
