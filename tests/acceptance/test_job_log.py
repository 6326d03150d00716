"""On a real site, grep alone follows a job over the logs of web server and worker; INFO stays bounded."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests

from delayhub.demo.site import Site, SiteOptions
from tests.acceptance.site import SHORT_LEASES
from tests.migrated_file import put_migrated_file
from tests.waiting import wait_until

TRACE = "d" * 32
#: Nothing listens there.
GONE = {"url": "http://127.0.0.1:1/", "backoff_min_seconds": 0, "backoff_max_seconds": 0, "jitter": 0}
FAILING = 60


def ask(site: Site, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {site.api_key}", "traceparent": f"00-{TRACE}-{'e' * 16}-01"}
    answer = requests.request(method, f"{site.url}/api/v1{path}", json=body, headers=headers, timeout=60)
    assert answer.ok, answer.text
    return answer.json()


def grep(text: str, folder: Path) -> str:
    """What grep finds in the logs, as an operator would ask."""
    logs = [str(log) for log in sorted(folder.rglob("*.log"))]
    return subprocess.run(["grep", "-h", "--", text, *logs], capture_output=True, text=True, check=False).stdout


def wait_until_dead(site: Site, count: int, code: str) -> None:
    def dead() -> int:
        return len(ask(site, "GET", f"/jobs?status=dead&biz_type={code}&limit=1000")["results"])

    wait_until(lambda: dead() == count, within_seconds=150, otherwise=site.worker.log_tail)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("level", ["DEBUG", "INFO"])
def test_grep_follows_a_job_by_its_id(tmp_path: Path, level: str) -> None:
    put_migrated_file(tmp_path)
    settings = {**SHORT_LEASES, "DELAYHUB_JOB_LOG_LEVEL": level, "DELAYHUB_LOG_FORMAT": "json"}
    with Site(SiteOptions(data_dir=tmp_path, settings=settings)) as site:
        ask(site, "POST", "/biz-types", {"code": "one.gone", "max_attempts": 2, **GONE})
        made = ask(site, "POST", "/jobs", {"biz_type": "one.gone", "biz_id": "order-42", "body": {"card": "4111hush"}})
        wait_until_dead(site, 1, "one.gone")
        ask(site, "POST", f"/jobs/{made['id']}/redrive", {})
        wait_until(lambda: grep(made["id"], tmp_path).count('"job_event": "died"') == 2, otherwise=site.worker.log_tail)
        found = grep(made["id"], tmp_path)

        if level == "INFO":
            ask(site, "POST", "/biz-types", {"code": "many.gone", "max_attempts": 3, **GONE})
            ask(site, "POST", "/jobs/bulk", {"jobs": [{"biz_type": "many.gone"}] * FAILING})
            wait_until_dead(site, FAILING, "many.gone")
            wait_until(lambda: "more jobs of many.gone" in grep("many.gone", tmp_path), within_seconds=30)
        everything = grep("", tmp_path)

    lines = [line for line in found.splitlines() if '"logger": "delayhub.jobs"' in line]
    events = ["created", "claimed", "failed", "died", "redrive"] if level == "DEBUG" else ["failed", "died", "redrive"]
    assert [event for event in events if not any(f'"job_event": "{event}"' in line for line in lines)] == []
    assert all(TRACE in line and "order-42" in line for line in lines)
    assert "4111hush" not in everything
    # Its banner names the task.
    assert "Task tasksapp.deliver" not in everything
    if level == "INFO":
        about = [line for line in everything.splitlines() if "many.gone" in line and "delayhub.jobs" in line]
        died = [line for line in about if '"job_event": "died"' in line]
        assert len(died) == FAILING
        # 120 attempts failed before.
        assert len(about) - len(died) < 60
