"""On a real site, grep alone follows a job over the logs of web server and worker; INFO stays bounded."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from delayhub.demo.site import Site, SiteOptions
from tasksapp.jobs.job_log import MOST_OF_KIND, WINDOW_SECONDS
from tests.kept_folder import PreparedSite
from tests.waiting import wait_until

TRACE = "d" * 32
#: Nothing listens there.
GONE = {"url": "http://127.0.0.1:1/", "backoff_min_seconds": 0, "backoff_max_seconds": 0, "jitter": 0}
FAILING = 40
#: Long, for a machine at load 30.
DEADLINE_SECONDS = 300


def ask(site: Site, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {site.api_key}", "traceparent": f"00-{TRACE}-{'e' * 16}-01"}
    answer = requests.request(method, f"{site.url}/api/v1{path}", json=body, headers=headers, timeout=60)
    assert answer.ok, answer.text
    return answer.json()


def grep(text: str, folder: Path) -> str:
    """What grep finds in the logs, as an operator would ask."""
    logs = [str(log) for log in sorted(folder.rglob("*.log"))]
    return subprocess.run(["grep", "-h", "--", text, *logs], capture_output=True, text=True, check=False).stdout


def lines_about_jobs(text: str, folder: Path) -> list[dict[str, Any]]:
    """Those of the jobs' logger that grep finds."""
    return [line for line in map(json.loads, filter(is_whole, grep(text, folder).splitlines())) if is_about_jobs(line)]


def is_whole(line: str) -> bool:
    """Whether it is a line of JSON, and written to its end."""
    return line.startswith("{") and line.endswith("}")


def is_about_jobs(line: dict[str, Any]) -> bool:
    return bool(line["logger"] == "delayhub.jobs")


def counted(lines: list[dict[str, Any]], event: str) -> int:
    """Of how many jobs the lines tell it, those in sums included."""
    return sum(line.get("count", 1) for line in lines if line["job_event"] == event)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("level", [pytest.param("DEBUG", marks=pytest.mark.nightly), "INFO"])
def test_grep_follows_a_job_by_its_id(tmp_path: Path, level: str) -> None:
    settings = {"DELAYHUB_JOB_LOG_LEVEL": level, "DELAYHUB_LOG_FORMAT": "json"}
    with PreparedSite(SiteOptions(data_dir=tmp_path, settings=settings)) as site:
        ask(site, "POST", "/biz-types", {"code": "one.gone", "max_attempts": 2, **GONE})
        made = ask(site, "POST", "/jobs", {"biz_type": "one.gone", "biz_id": "order-42", "body": {"card": "4111hush"}})
        wait_for_deaths(site, made["id"], 1)
        ask(site, "POST", f"/jobs/{made['id']}/redrive", {})
        wait_for_deaths(site, made["id"], 2)
        if level == "INFO":
            ask(site, "POST", "/biz-types", {"code": "many.gone", "max_attempts": 2, **GONE})
            ask(site, "POST", "/jobs/bulk", {"jobs": [{"biz_type": "many.gone"}] * FAILING})
            wait_for_deaths(site, "many.gone", FAILING)
            wait_until(
                lambda: counted(lines_about_jobs("many.gone", tmp_path), "failed") == FAILING,
                within_seconds=DEADLINE_SECONDS, otherwise=site.worker.log_tail,
            )  # fmt: skip

    found = [(line["job_event"], line["level"], line["attempt"]) for line in lines_about_jobs(made["id"], tmp_path)]
    everything = grep("", tmp_path)
    told = {
        ("created", "debug", 0), ("claimed", "debug", 1), ("failed", "warning", 1), ("claimed", "debug", 2),
        ("died", "error", 2), ("redrive", "info", 0), ("claimed", "debug", 3), ("failed", "warning", 3),
        ("claimed", "debug", 4), ("died", "error", 4),
    }  # fmt: skip
    assert sorted(found) == sorted(line for line in told if level == "DEBUG" or line[1] != "debug")
    assert all(
        line["trace_id"] == TRACE and line["biz_id"] == "order-42" for line in lines_about_jobs(made["id"], tmp_path)
    )
    # The request's lines are the web server's, those of attempts the worker's.
    logs = {event: log.name for log in tmp_path.rglob("*.log") for event in ("redrive", "died") if says(log, event)}
    assert logs == {"redrive": "web_server.log", "died": "worker.log"}
    assert "4111hush" not in everything
    # Its banner names the task.
    assert "Task tasksapp.deliver" not in everything
    if level == "INFO":
        failed = [line for line in lines_about_jobs("many.gone", tmp_path) if line["job_event"] == "failed"]
        own = [datetime.fromisoformat(line["timestamp"]) for line in failed if "count" not in line]
        # One more: on a busy machine the first line may be written a while after its window began.
        windows = (max(own) - min(own)).total_seconds() // WINDOW_SECONDS + 2
        assert MOST_OF_KIND <= len(own) <= MOST_OF_KIND * windows


def says(log: Path, event: str) -> bool:
    return f'"job_event": "{event}"' in log.read_text()


def wait_for_deaths(site: Site, text: str, count: int) -> None:
    """Waits until the log has so many lines about deaths: each has its own."""

    def died() -> int:
        lines = lines_about_jobs(text, site.folder.path)
        return sum(line["job_event"] == "died" and "count" not in line for line in lines)

    wait_until(lambda: died() == count, within_seconds=DEADLINE_SECONDS, otherwise=site.worker.log_tail)
