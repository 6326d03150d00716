"""Callers of tenants that move: they create jobs and cancel some, and know nothing but one address and their keys."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from delayhub.clock import SystemClock

#: A job is due so many seconds after it was made, or up to that much later.
SOONEST, LATEST = 1, 20
#: Jobs of one request, and how many of hundred are cancelled.
BULK, CANCELLED_OF_HUNDRED = 20, 15
GIVE_UP_SECONDS = 300.0
#: Between two requests, when there are jobs enough.
PAUSE_SECONDS = 0.2


@dataclass
class Callers:
    """What one tenant's callers were told.

    Args:
        proxy: the address of all cells.
        key: the tenant's.
        seed: of what they choose.
    """

    proxy: str
    key: str
    seed: int
    #: By id of each job that was confirmed: before when it is not due, Unix seconds.
    due: dict[str, float] = field(default_factory=dict)
    #: By id of each job whose cancel was confirmed: when that was.
    cancelled: dict[str, float] = field(default_factory=dict)
    #: How often they were asked to come again, and sent elsewhere.
    waited: int = 0
    sent_on: int = 0

    def run(self, jobs: int, enough: threading.Event) -> None:
        """Creates so many jobs, a request at a time, and goes on until it is told that it is enough."""
        choose = random.Random(self.seed)
        with httpx.Client(timeout=60) as client:
            number = 0
            while len(self.due) < jobs or not enough.wait(PAUSE_SECONDS):
                number += 1
                delays = [choose.randint(SOONEST, LATEST) for _ in range(BULK)]
                wanted = [{"biz_type": "order.close", "delay": delay, "body": {"n": number}} for delay in delays]
                headers = {"Idempotency-Key": f'"{self.seed}-{number}"'}
                began = _now()
                made = self.ask(client, "POST", "/api/v1/jobs/bulk", json={"jobs": wanted}, headers=headers)
                assert made.status_code == 201, made.text
                ids = [result["id"] for result in made.json()["results"]]
                self.due |= {job_id: began + delay for job_id, delay in zip(ids, delays, strict=True)}
                for job_id in ids:
                    if choose.randrange(100) < CANCELLED_OF_HUNDRED:
                        answer = self.ask(client, "POST", f"/api/v1/jobs/{job_id}/cancel", json={})
                        if answer.status_code == 200:
                            self.cancelled[job_id] = _now()

    def ask(self, client: httpx.Client, method: str, path: str, **sent: Any) -> httpx.Response:
        """The answer, wherever it comes from; asked again where the site says so, or breaks."""
        address, deadline = self.proxy + path, time.monotonic() + GIVE_UP_SECONDS
        headers = {**sent.pop("headers", {}), "Authorization": f"Bearer {self.key}"}
        while True:
            assert time.monotonic() < deadline, f"{method} {address} was not answered in {GIVE_UP_SECONDS:.0f} s"
            try:
                answer = client.request(method, address, headers=headers, **sent)
            except httpx.TransportError:
                time.sleep(0.2)
                continue
            if answer.status_code == 308:
                self.sent_on += 1
                address = answer.headers["Location"]
            elif answer.status_code in {429, 502, 503, 504}:
                self.waited += 1
                time.sleep(min(float(answer.headers.get("Retry-After", "0.2")), 2.0))
                address = self.proxy + path
            else:
                return answer


def _now() -> float:
    return SystemClock().now_ms() / 1000
