"""A body that is refused before it was read: the client reads why, also through nginx, and finds no broken pipe."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.nginx_proxy import cells_proxy
from tests.web_server import KEY, prepare_database, web_server

#: More than a bulk, nginx and all buffers on the way take.
BODY = b"x" * 12_000_000
JSON = {"Content-Type": "application/json"}
RIGHT = {**JSON, "Authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module", params=["wsgi", "asgi"])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the ready-made project's web server."""
    folder = tmp_path_factory.mktemp("web")
    prepare_database(folder)
    with web_server(folder, interface=request.param, DELAYHUB_BODY_SLOTS="2") as port:
        yield port


def status_of(port: int, path: str, headers: dict[str, str], *, chunked: bool = False) -> int:
    """Send a request with a large body, all of it, and return the status of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        parts = (BODY[at : at + 65_536] for at in range(0, len(BODY), 65_536))
        connection.request("POST", path, parts if chunked else BODY, headers, encode_chunked=chunked)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/v1/jobs", RIGHT, 413),
        ("/api/v1/jobs/bulk", RIGHT, 413),
        # refused before anything of the body is looked at
        ("/api/v1/jobs", JSON, 401),
        ("/api/v1/jobs/bulk", {**RIGHT, "Content-Type": "text/plain"}, 413),
        ("/api/v1/nothing-here", RIGHT, 404),
    ],
)
def test_who_sends_a_large_body_reads_why_it_is_refused(
    port: int, path: str, headers: dict[str, str], status: int, *, chunked: bool
) -> None:
    sent = {**headers, "Transfer-Encoding": "chunked"} if chunked else headers

    assert status_of(port, path, sent, chunked=chunked) == status


def test_through_nginx_too(port: int, tmp_path: Path) -> None:
    with cells_proxy(tmp_path, {"c1": f"127.0.0.1:{port}", "c2": f"127.0.0.1:{port}"}) as address:
        assert status_of(int(address.rpartition(":")[2]), "/api/v1/jobs", RIGHT) == 413
