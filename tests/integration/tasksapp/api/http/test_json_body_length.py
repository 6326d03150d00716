"""A body comes whole, whether its length is known or not, or the request is refused: on real web servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.http_bytes import END_OF_CHUNKS, ask_http1, ask_http2, chunks
from tests.web_server import BIZ_TYPE, KEY, prepare_database, web_server

HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
CHUNKED = {**HEADERS, "Transfer-Encoding": "chunked"}
STALE = b'{"version": 77}'


class Site(NamedTuple):
    """A running web server."""

    port: int

    def create(self) -> str:
        """The id of a new job that is due in an hour."""
        return str(self.ask("POST /api/v1/jobs", JOB)["id"])

    def ask(self, head: str, body: bytes = b"") -> Any:
        """An ordinary request."""
        return ask_http1(self.port, head, {**HEADERS, "Content-Length": str(len(body))}, body)

    def jobs(self) -> list[str]:
        """The ids of all jobs."""
        return [row["id"] for row in self.ask("GET /api/v1/jobs?limit=1000")["results"]]

    def status_of(self, job_id: str) -> str:
        return str(self.ask(f"GET /api/v1/jobs/{job_id}")["status"])


JOB = json.dumps({"biz_type": BIZ_TYPE, "biz_id": "chunked", "delay": 3600, "body": {"order": 42}}).encode()

#: A way to send a body of unknown length.
Send = Callable[[int, str, bytes], Any]


def in_chunks(port: int, head: str, body: bytes) -> Any:
    return ask_http1(port, head, CHUNKED, chunks(body[:7], body[7:]) + END_OF_CHUNKS)


def by_http2(port: int, head: str, body: bytes) -> Any:
    return ask_http2(port, head, HEADERS, body)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a site."""
    made = tmp_path_factory.mktemp("site")
    prepare_database(made)
    return made


@pytest.fixture(scope="module", params=["wsgi", "asgi"])
def site(folder: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """The ready-made project's server."""
    with web_server(folder, interface=request.param, http="auto") as port:
        yield Site(port)


@pytest.fixture(scope="module")
def wsgi_site(folder: Path) -> Iterator[Site]:
    """The ready-made project's server, as it is run; an ASGI server gives Django no body that was cut short."""
    with web_server(folder, DELAYHUB_BODY_SLOTS="2") as port:
        yield Site(port)


@pytest.mark.parametrize("send", [in_chunks, by_http2])
def test_a_body_of_unknown_length_creates_the_job_that_it_describes(site: Site, send: Send) -> None:
    answer = send(site.port, "POST /api/v1/jobs", JOB)

    assert (answer["biz_id"], answer["body"]) == ("chunked", {"order": 42})


@pytest.mark.parametrize("send", [in_chunks, by_http2])
def test_a_version_in_a_body_of_unknown_length_counts(site: Site, send: Send) -> None:
    job_id = site.create()

    answer = send(site.port, f"POST /api/v1/jobs/{job_id}/cancel", STALE)

    assert (answer["status"], answer["type"]) == (409, "/api/problems/version_conflict")
    assert site.status_of(job_id) == "pending"


def test_a_body_of_unknown_length_may_not_be_longer_than_others(site: Site) -> None:
    answer = in_chunks(site.port, "POST /api/v1/jobs", b'{"body": "' + b"x" * 300_000)

    assert (answer["status"], answer["type"]) == (413, "/api/problems/too_large")


def test_chunks_that_hold_nothing_are_not_taken_for_a_request_without_a_body(site: Site) -> None:
    job_id = site.create()

    answer = ask_http1(site.port, f"POST /api/v1/jobs/{job_id}/cancel", CHUNKED, END_OF_CHUNKS)

    assert (answer["status"], answer["type"]) == (400, "/api/problems/incomplete_body")
    assert "send {}" in answer["detail"]
    assert site.status_of(job_id) == "pending"


def test_a_request_without_a_body_needs_no_length(site: Site) -> None:
    job_id = site.create()

    answer = ask_http1(site.port, f"POST /api/v1/jobs/{job_id}/cancel", HEADERS, b"")

    assert answer["status"] == "cancelled"


@pytest.mark.parametrize(
    ("headers", "raw", "says"),
    [
        # JSON that looks complete
        ({**HEADERS, "Content-Length": "1000"}, JOB, "The connection broke"),
        ({**HEADERS, "Content-Length": "1000"}, b"", "The connection broke"),
        (CHUNKED, b"", "none came"),
        (CHUNKED, chunks(JOB[:-1]), "not JSON"),
    ],
)
def test_a_body_that_is_cut_short_creates_nothing(
    wsgi_site: Site, headers: dict[str, str], raw: bytes, says: str
) -> None:
    before = wsgi_site.jobs()

    answer = ask_http1(wsgi_site.port, "POST /api/v1/jobs", headers, raw, breaks=True)

    assert answer["status"] == 400
    assert says in answer["detail"]
    assert wsgi_site.jobs() == before


@pytest.mark.parametrize(("headers", "raw"), [({**HEADERS, "Content-Length": "15"}, b""), (CHUNKED, b"")])
def test_a_body_that_never_comes_cancels_nothing(wsgi_site: Site, headers: dict[str, str], raw: bytes) -> None:
    job_id = wsgi_site.create()

    answer = ask_http1(wsgi_site.port, f"POST /api/v1/jobs/{job_id}/cancel", headers, raw, breaks=True)

    assert (answer["status"], answer["type"]) == (400, "/api/problems/incomplete_body")
    assert wsgi_site.status_of(job_id) == "pending"


@pytest.mark.django_db(transaction=True)
def test_a_server_that_does_not_delimit_chunks_has_them_refused(live_server: Any, key: str) -> None:
    """That of ``manage.py runserver``."""
    port = live_server.thread.port

    answer = ask_http1(
        port, "POST /api/v1/jobs", {**CHUNKED, "Authorization": f"Bearer {key}"}, chunks(JOB) + END_OF_CHUNKS
    )

    assert (answer["status"], answer["type"]) == (411, "/api/problems/length_required")
    assert "Content-Length" in answer["detail"]


@pytest.mark.django_db(transaction=True)
def test_another_server_that_ends_the_body_early_is_noticed_too(live_server: Any, key: str) -> None:
    headers = {**HEADERS, "Authorization": f"Bearer {key}", "Content-Length": "1000"}

    answer = ask_http1(live_server.thread.port, "POST /api/v1/jobs", headers, JOB, breaks=True)

    assert f"1000 bytes were declared, {len(JOB)} came" in answer["detail"]
