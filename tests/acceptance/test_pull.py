"""`delayhub pull` on a live site: a command for each job; a puller that is killed; limits while many pull."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from delayhub.client import Client, Job
from delayhub.demo.site import Site
from tests.waiting import wait_until

BIZ_TYPE = "report.build"


@pytest.fixture(scope="module")
def site(lasting_site: Site) -> Site:
    """A site that runs, with a biz type that is pulled."""
    with Client(lasting_site.url, api_key=lasting_site.api_key) as api:
        api.biz_types.create(BIZ_TYPE, target="pull", backoff_min_seconds=0)
    return lasting_site


@pytest.fixture
def api(site: Site) -> Iterator[Client]:
    with Client(site.url, api_key=site.api_key) as client:
        yield client


def puller(site: Site, *words: str | Path, once: bool = False) -> subprocess.Popen[str]:
    """`delayhub pull` with that command, in a process of its own."""
    command: Sequence[str | Path] = [
        *(sys.executable, "-m", "delayhub.cli", "pull", BIZ_TYPE, "--lease", "2s"),
        *(["--once"] if once else []),
        *("--dead-code", "3", "--", *words),
    ]
    environment = {**os.environ, "DELAYHUB_URL": site.url, "DELAYHUB_API_KEY": site.api_key}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_command_runs_for_each_job_and_its_exit_code_says_what_becomes_of_it(
    site: Site, api: Client, tmp_path: Path
) -> None:
    script = tmp_path / "build.py"
    script.write_text(
        "import json, os, sys\n"
        "body = json.load(sys.stdin)\n"
        f"open({str(tmp_path)!r} + '/' + os.environ['DELAYHUB_BIZ_ID'] + os.environ['DELAYHUB_ATTEMPT'], 'w')"
        ".write(json.dumps(body))\n"
        "sys.stderr.write('no paper\\n' if body['code'] else '')\n"
        "sys.exit(body['code'])\n"
    )
    done, dead, tried = (
        api.jobs.create(BIZ_TYPE, biz_id=f"r{code}-", max_attempts=2, body={"code": code, "text": "Grüße"})
        for code in (0, 3, 1)
    )

    process = puller(site, sys.executable, script, once=True)
    _, told = process.communicate(timeout=60)

    assert process.returncode == 0, told
    ended = {job.id: job for job in (api.jobs.read(made.id) for made in (done, dead, tried))}
    assert (ended[done.id].status, ended[dead.id].status) == ("succeeded", "dead")
    assert ended[dead.id].last_error == "exit code 3: no paper"
    assert (tmp_path / "r0-1").read_text() == json.dumps({"code": 0, "text": "Grüße"})
    assert "no paper" in told
    (attempt,) = api.jobs.attempts(dead.id)
    assert attempt.worker.startswith("api:")
    assert "exit code 1: no paper" in ended[tried.id].last_error


def test_a_job_that_has_succeeded_runs_again_as_a_new_one(site: Site, api: Client) -> None:
    made = api.jobs.create(BIZ_TYPE, biz_id="again", body={"order": 42}, priority=2, flow_key="customer-7")
    (first,) = api.claims.claim([BIZ_TYPE], wait=10)
    api.claims.done(first)

    again = api.jobs.run_again(made.id)

    (second,) = api.claims.claim([BIZ_TYPE], wait=10)
    api.claims.done(second)
    assert (second.job_id, second.body, second.biz_id) == (again.id, {"order": 42}, "again")
    assert (again.priority, again.flow_key, again.status) == (2, "customer-7", "pending")
    assert again.id != made.id
    once_more = told(site, "jobs", "run-again", again.id)
    assert {job.id for job in api.jobs.list(biz_id="again", status="pending")} == {once_more["id"]}
    api.jobs.cancel(once_more["id"])


def told(site: Site, *words: str) -> Any:
    """What a command of `delayhub` says, as JSON."""
    command = [sys.executable, "-m", "delayhub.cli", *words, "--json"]
    environment = {**os.environ, "DELAYHUB_URL": site.url, "DELAYHUB_API_KEY": site.api_key}
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60).stdout)


def test_the_job_of_a_puller_that_is_killed_comes_again_after_its_lease(site: Site, api: Client) -> None:
    made = api.jobs.create(BIZ_TYPE, biz_id="killed", delay=timedelta(seconds=0))
    process = puller(site, "sleep", "60")

    def read() -> Job:
        return api.jobs.read(made.id)

    wait_until(lambda: read().status == "running", within_seconds=30)
    # Longer than its lease: it is extended.
    (held,) = api.jobs.list(biz_id="killed")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(4)
    assert read().version == held.version, "the same claim"
    process.kill()
    process.communicate()
    found: list[Any] = []

    def claimed_again() -> bool:
        found.extend(api.claims.claim([BIZ_TYPE], wait=5))
        return any(claim.job_id == made.id for claim in found)

    wait_until(claimed_again, within_seconds=60)
    assert api.claims.done(found[-1]).status == "succeeded"
    assert (read().system_errors, read().attempts) == (1, 1)
