"""An operation of a real site goes on after the worker that worked it off was killed."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import Site
from tests.waiting import wait_until

JOBS = 600


class Caller:
    """A caller of a site's API."""

    def __init__(self, site: Site) -> None:
        self._url = f"{site.url}/api/v1"
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {site.api_key}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._session.request(method, self._url + path, json=body, timeout=60)
        assert answer.ok, answer.text
        return answer.json()

    def close(self) -> None:
        self._session.close()


@pytest.mark.nightly  # by day: operations/test_runner.py, a turn that breaks off; test_kills.py, a killed worker
@pytest.mark.slow
@pytest.mark.timeout(300)  # a site starts, and its worker twice: 106 s beside sixteen other processes on two cores
def test_an_operation_survives_the_kill_of_its_worker(lasting_site: Site) -> None:
    site, caller = lasting_site, Caller(lasting_site)
    request = {"biz_type": CLOSE_ORDER.code, "biz_id": "wrong-import", "delay": 86_400}
    for _ in range(JOBS // 300):
        caller.ask("POST", "/jobs/bulk", {"jobs": [request] * 300})

    made = caller.ask("POST", "/operations", {"verb": "cancel", "filter": {"biz_id": "wrong-*"}, "reason": "wrong"})
    address = f"/operations/{made['id']}"

    def now() -> dict[str, Any]:
        found: dict[str, Any] = caller.ask("GET", address)
        return found

    wait_until(lambda: now()["state"] == "planned", otherwise=site.worker.log_tail)
    assert now()["planned"] == JOBS
    caller.ask("POST", f"{address}/start", {"rate_per_second": 150})
    wait_until(lambda: now()["done"] >= JOBS // 4, otherwise=site.worker.log_tail)
    site.worker.kill()
    assert now()["done"] < JOBS
    site.worker.launch()
    wait_until(lambda: now()["state"] == "done", otherwise=site.worker.log_tail)

    done = now()
    cancelled = caller.ask("GET", "/jobs?status=cancelled&biz_id=wrong-import&limit=1000")["results"]
    caller.close()
    assert (done["done"], done["left"]) == (JOBS, 0)
    assert len({job["id"] for job in cancelled if job["biz_id"] == "wrong-import"}) == JOBS
    assert {job["version"] for job in cancelled} == {2}
