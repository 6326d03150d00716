"""What a puller says of jobs in the end: what a site takes, whatever the handler returns or raises."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from delayhub import Snooze
from delayhub.client import Claim, Client, GiveUp, Puller, TryAgain

CLAIM: dict[str, Any] = {
    "token": "t" * 32, "lease_until": "2027-01-31T08:31:00Z", "lease_seconds": 60.0, "job_id": "j",
    "biz_type": "report", "biz_id": "", "due_at": "2027-01-31T08:30:00Z", "deadline": None,
    "attempt": 1, "max_attempts": 16, "redrives": 0, "headers": {}, "body": None,
}  # fmt: skip
ENDED = {
    "outcome": "done", "repeated": False, "job_id": "j", "biz_type": "report", "biz_id": "", "status": "succeeded",
    "attempts": 1, "next_run_at": "2027-01-31T08:30:00Z", "lease_until": None,
}  # fmt: skip


def ends_of(handler: Callable[[Claim], object]) -> list[tuple[str, dict[str, Any]]]:
    """The verbs by which a job's claim was ended, with their fields."""
    ends: list[tuple[str, dict[str, Any]]] = []
    claims = [[CLAIM], []]

    def answer(request: httpx.Request) -> httpx.Response:
        verb, fields = request.url.path.rpartition("/")[2], json.loads(request.content or b"{}")
        if verb == "claims":
            return httpx.Response(200, json={"claims": claims.pop(0)})
        ends.append((verb, fields))
        return httpx.Response(200, json=ENDED)

    with Client("http://site.example", api_key="k", transport=httpx.MockTransport(answer)) as client:
        Puller(client, ["report"], handler).run(until_none_is_due=True)
    return ends


def test_of_a_long_note_there_is_as_much_as_a_site_takes() -> None:
    assert ends_of(lambda claim: "x" * 3_000) == [("done", {"note": "x" * 2_000})]


def test_a_note_holds_nothing_that_no_site_takes() -> None:
    assert ends_of(lambda claim: "built a\0\udcff") == [("done", {"note": "built a?"})]


@pytest.mark.parametrize("kind", [TryAgain, GiveUp, ValueError])
def test_nor_does_a_reason(kind: type[Exception], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)  # a log with half of a surrogate pair cannot be sent between test processes

    def fail(claim: Claim) -> None:
        raise kind("no\0\udcff")

    [(verb, fields)] = ends_of(fail)

    assert (verb, fields["reason"].removeprefix("ValueError: ")) == ("fail", "no?")


def test_what_cannot_be_said_of_a_job_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def fail(claim: Claim) -> None:
        raise TryAgain("soon", seconds=float("nan"))

    assert ends_of(fail) == []
    assert "the end of job j could not be said" in caplog.text


def test_it_goes_on_where_a_site_fails_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("delayhub.client.puller.FIRST_REST", 0.0)
    answers = [httpx.Response(500), httpx.Response(200, json={"claims": []})]

    def answer(request: httpx.Request) -> httpx.Response:
        return answers.pop(0)

    with Client("http://site.example", api_key="k", transport=httpx.MockTransport(answer)) as client:
        claimed = Puller(client, ["report"], lambda claim: None).run(until_none_is_due=True)

    assert (claimed, answers) == (0, [])


@pytest.mark.parametrize("asked", ["1000000000", "9" * 30, "9" * 400])
def test_it_waits_an_hour_at_most_whatever_a_site_asks_for(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    answers = [httpx.Response(503, headers={"Retry-After": asked}), httpx.Response(200, json={"claims": []})]

    def answer(request: httpx.Request) -> httpx.Response:
        return answers.pop(0)

    with Client("http://site.example", api_key="k", transport=httpx.MockTransport(answer)) as client:
        puller = Puller(client, ["report"], lambda claim: None)
        monkeypatch.setattr(puller._stopped, "wait", waits.append)
        puller.run(until_none_is_due=True)

    assert waits == [3_600]


def test_a_job_that_its_handler_snoozes_is_released_for_so_long() -> None:
    def wait(claim: Claim) -> None:
        raise Snooze(90, reason="the report is not there yet")

    assert ends_of(wait) == [("release", {"reason": "the report is not there yet", "retry_in": 90})]
