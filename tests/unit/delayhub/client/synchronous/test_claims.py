"""How a claim waits. The asynchronous one is the same but for `await`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from delayhub.client import RateLimited
from delayhub.client.synchronous import claims
from tests.answering_site import Site, ok, refused

NO_ROOM = {"code": "too_many_waits", "Retry_After": "5"}


class Clock:
    """Seconds that pass only while somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(claims, "time", made)
    return made


def test_without_a_place_to_wait_in_a_claim_asks_once_a_second(clock: Clock) -> None:
    claim: dict[str, Any] = {"claims": []}
    site = Site(*[refused(429, **NO_ROOM) for _ in range(3)], ok(claim))

    assert site.client().claims.claim(["report"], wait=10) == []

    assert clock.seconds == 3
    assert [json.loads(request.content)["wait"] for request in site.asked] == [10] * 4


def test_it_gives_nothing_when_its_time_is_over(clock: Clock) -> None:
    site = Site(*[refused(429, **NO_ROOM) for _ in range(4)])

    assert site.client().claims.claim(["report"], wait=3) == []

    assert clock.seconds == 3


def test_another_limit_is_an_error(clock: Clock) -> None:
    with pytest.raises(RateLimited):
        Site(refused(429, Retry_After="3600")).client().claims.claim(["report"], wait=3)
