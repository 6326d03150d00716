"""What a connection makes of answers, and how it repeats requests. The asynchronous one is the same but for `await`.

Each test runs once more over the TypeScript client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from delayhub.client import Forbidden, NotFound, RateLimited, ServerUnavailable, UnexpectedAnswer, Unreachable
from tests.answering_site import Site, ok, refused
from tests.client_models import job_document

pytestmark = pytest.mark.usefixtures("over")


def test_a_creation_whose_answer_is_lost_is_repeated_with_the_same_key(pauses: list[float]) -> None:
    created = {**job_document(), "created": False, "replaced": False, "armed": None, "past_due": False}
    site = Site(httpx.ReadTimeout("late"), httpx.ReadError("cut"), refused(503), ok(created))

    made = site.client().jobs.create("order.close", delay=1)

    assert made.created is False
    bodies = {request.content for request in site.asked}
    keys = {request.headers.get("Idempotency-Key") for request in site.asked}
    assert len(bodies) == len(keys) == 1
    assert keys.pop() or json.loads(bodies.pop())["idempotency_key"]
    assert len(pauses) == 3


def test_a_verb_that_may_have_been_carried_out_is_not_repeated(pauses: list[float]) -> None:
    site = Site(httpx.ReadTimeout(""))

    with pytest.raises(
        Unreachable, match=r"POST https://delay.example/api/v1/jobs/1/cancel: no answer in time"
    ) as lost:
        site.client().jobs.cancel("1")

    assert lost.value.was_sent
    assert pauses == []


def test_a_verb_that_was_never_sent_is_repeated(pauses: list[float]) -> None:
    site = Site(httpx.ConnectError("refused"), refused(429, Retry_After="3"), ok())

    site.client().jobs.cancel("1")

    assert len(site.asked) == 3
    assert 3 <= pauses[1] <= 3.5


def test_after_the_last_repetition_the_error_is_raised(pauses: list[float]) -> None:
    site = Site(*[refused(503)] * 3)

    with pytest.raises(ServerUnavailable):
        site.client(retries=2).jobs.read("1")

    assert len(pauses) == 2


@pytest.mark.usefixtures("pauses")
def test_a_longer_pause_than_the_caller_allows_is_an_error() -> None:
    with pytest.raises(RateLimited) as limited:
        Site(refused(429, Retry_After="3600")).client(most_wait_seconds=5).jobs.read("1")

    assert limited.value.retry_after == 3600


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(200, text="<html>hello</html>"), "with what is no JSON: '<html>hello</html>'"),
        (httpx.Response(200, json={"jobs": []}), "the answer is no Job"),
        (httpx.Response(301, headers={"Location": "https://new.example/"}), "answered 301, to https://new.example/"),
        (httpx.Response(200), "the answer is no Job"),
    ],
)
def test_an_answer_of_something_else_is_said_to_be_that(answer: httpx.Response, said: str) -> None:
    with pytest.raises(UnexpectedAnswer, match=said):
        Site(answer).client().jobs.read("1")


def test_a_refusal_of_a_proxy_is_a_problem_too() -> None:
    page = httpx.Response(404, html="<h1>nginx</h1>")

    with pytest.raises(NotFound, match="not by DelayHub: a proxy, or another address") as found:
        Site(page).client().jobs.read("1")

    assert found.value.errors == []


def test_pages_are_followed_to_the_last_one_on_the_same_host() -> None:
    following = "http://inside:8000/api/v1/jobs?status=dead&cursor=7"
    pages = [
        ok({"next": following, "results": [job_document(id="1")]}),
        ok({"next": None, "results": [job_document(id="2")]}),
    ]
    site = Site(*pages)

    found = [job.id for job in site.client().jobs.list(status="dead", page_size=1)]

    assert found == ["1", "2"]
    assert [str(request.url) for request in site.asked] == [
        "https://delay.example/api/v1/jobs?status=dead&limit=1",
        "https://delay.example/api/v1/jobs?status=dead&cursor=7",
    ]


def test_a_list_that_is_no_list_is_an_unexpected_answer() -> None:
    with pytest.raises(UnexpectedAnswer, match="not answered with a page"):
        list(Site(ok({"jobs": []})).client().jobs.list())
    with pytest.raises(UnexpectedAnswer, match="not answered with a list"):
        Site(ok({"jobs": []})).client().jobs.links("1")


def test_a_deprecated_request_is_logged_with_its_end(caplog: pytest.LogCaptureFixture) -> None:
    headers = {"Deprecation": "@1795219200", "Sunset": "Sun, 21 Nov 2027 00:00:00 GMT"}

    Site(httpx.Response(200, json=job_document(), headers=headers)).client().jobs.read("1")

    assert "GET /jobs/1 is deprecated at https://delay.example/api/v1 until Sun, 21 Nov 2027" in caplog.text


def test_the_key_and_the_client_are_named_in_each_request() -> None:
    site = Site(ok())

    site.client().jobs.read("1")

    assert site.asked[0].headers["Authorization"] == "Bearer k"
    assert site.asked[0].headers["User-Agent"].startswith("delayhub-client/")


def test_an_export_comes_part_by_part() -> None:
    site = Site(httpx.Response(200, content=iter([b"a\n", b"b\n"])))

    assert b"".join(site.client().jobs.export("csv", status="dead", ids=["1", "2"])) == b"a\nb\n"
    assert str(site.asked[0].url).endswith("/jobs/export?status=dead&ids=1&ids=2&format=csv")


def test_an_export_that_is_refused_or_breaks_off_says_so() -> None:
    def cut() -> Iterator[bytes]:
        yield b"a\n"
        raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")

    site = Site(refused(403, code="scope_missing"), httpx.Response(200, content=cut()))

    with pytest.raises(Forbidden):
        list(site.client().jobs.export())
    parts = site.client().jobs.export()
    assert next(parts) == b"a\n"
    with pytest.raises(Unreachable):
        next(parts)
