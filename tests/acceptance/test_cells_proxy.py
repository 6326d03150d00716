"""``deploy/nginx/cells.conf`` in a real nginx: a request goes to the cell that its key names."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.acceptance.nginx_proxy import cells_proxy


class Cell:
    """A web server that says its name and what it was asked."""

    def __init__(self, name: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                answer = json.dumps({"cell": name, "path": self.path, "body": body}).encode()
                self.send_response(201)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *args: object) -> None:
                """Nothing: a test is quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def cells() -> Iterator[dict[str, Cell]]:
    started = {name: Cell(name) for name in ("c1", "c2")}
    yield started
    for cell in started.values():
        cell.server.shutdown()
        cell.server.server_close()


@pytest.fixture
def proxy(cells: dict[str, Cell], tmp_path: Path) -> Iterator[str]:
    """A proxy where one key has moved."""
    addresses = {name: cell.address for name, cell in cells.items()}
    with cells_proxy(
        tmp_path, addresses, edit=lambda text: text.replace('# "~^Bearer dh_c2', '"~^Bearer dh_c2')
    ) as address:
        yield address


def test_a_request_goes_to_the_cell_of_its_key(proxy: str) -> None:
    with httpx.Client(base_url=proxy) as client:

        def cell_of(authorization: str | None) -> str:
            headers = {} if authorization is None else {"Authorization": authorization}
            answer = client.post("/api/v1/jobs?wait=1", json={"biz_type": "order.close"}, headers=headers)
            said = answer.json()
            assert (answer.status_code, said["path"]) == (201, "/api/v1/jobs?wait=1")
            assert json.loads(said["body"]) == {"biz_type": "order.close"}
            name: str = said["cell"]
            return name

        assert cell_of("Bearer dh_c1.V1StGXR8Z5jdHi6B") == "c1"
        assert cell_of("Bearer dh_c2.Z5jdHi6BV1StGXR8") == "c2"
        assert cell_of("Bearer dh_c2.V1StGXR8Z5jdHi6B") == "c1", "it has moved"
        assert cell_of("Bearer dh_c2XV1StGXR8") == "c1", "a key from before there were cells"
        assert cell_of(None) == "c1"
        assert client.get("/admin/").status_code == 404
