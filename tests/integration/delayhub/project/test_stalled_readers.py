"""Clients that ask for all that streams or waits and then read nothing: others are answered, and memory stays."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from delayhub.project.stalled_readers import bound_unread_time
from tests.repository import ROOT
from tests.waiting import wait_until
from tests.web_server import BIZ_TYPE, KEY, asked, environment_of, prepare_database, web_server

CLIENTS = 200
#: Jobs of 60 KB: 24 MB, several times what the sockets of an unread answer take.
JOBS, BODY_BYTES = 400, 60_000
#: How much more memory the web server may take for all of it: 33 pages of a list have 2 MB each. Without bounds an
#: export took 19 MB, and a list 24.
MOST_MEGABYTES = 200
OTHER_KEY = "dh_the-key-of-another-tenant"
PULLED, BIZ_ID = "report.build", "order-1"

_OTHERS = f"""
import django
django.setup()
from tasksapp.access.keys import issue_key
from tasksapp.models import BizType, Tenant
from tasksapp.models.api_key import Scope
acme = Tenant.objects.create(code="acme", name="Acme")
issue_key("acme", key={OTHER_KEY!r}, scopes=Scope.values, tenant_id=acme.pk)
BizType.objects.create(code={PULLED!r}, target="pull")
BizType.objects.create(code={BIZ_TYPE!r}, url="https://acme.example/hooks", tenant=acme)
from tasksapp.models import Job, Status
from tests.job_rows import job_row
ours = BizType.objects.get(code={BIZ_TYPE!r}, tenant__code="default")
rows = [job_row(ours, Status.DEAD, body='"' + "x" * {BODY_BYTES} + '"') for _ in range({JOBS})]
Job.objects.bulk_create(rows, batch_size=50)
"""


linux = pytest.mark.skipif(sys.platform != "linux", reason="cannot run here: only Linux cuts off who reads nothing")


class Site(NamedTuple):
    """A web server, its processes, and a job of it."""

    port: int
    processes: list[int]
    job_id: str

    def megabytes(self) -> float:
        """Return the resident memory of its processes."""
        lines = [line for pid in self.processes for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


@pytest.fixture(params=["wsgi", "asgi"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """A web server with few threads and the bounds of the files in deploy/, which cuts clients off after 2 s."""
    prepare_database(tmp_path)
    subprocess.run([sys.executable, "-c", _OTHERS], cwd=ROOT, env=environment_of(tmp_path), check=True, timeout=120)
    bounds = {"DELAYHUB_REQUEST_SLOTS": "6", "DELAYHUB_LONG_POLLS": "2", "DELAYHUB_SEND_SECONDS": "2"}
    with web_server(tmp_path, interface=request.param, threads=8, **bounds) as port:
        job = asked(port, "POST", "/jobs", {"biz_type": BIZ_TYPE, "biz_id": BIZ_ID, "delay": 3600})
        yield Site(port, processes_of(port), job.json["id"])


def processes_of(port: int) -> list[int]:
    """Return the processes that were started with that port, and their children."""
    parents: dict[int, int] = {}
    found = []
    for each in Path("/proc").iterdir():
        try:
            line = (each / "cmdline").read_bytes().split(b"\0")
            parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
        except (ValueError, OSError):
            continue
        if b"granian" in line and str(port).encode() in line:
            found.append(int(each.name))
    return sorted({*found, *(pid for pid, parent in parents.items() if parent in found)})


def waiting_or_streaming(port: int) -> set[tuple[str, str]]:
    """Return method and path of all operations that wait or stream, as the OpenAPI document has them."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/schema", headers={"Accept": "application/json", "Authorization": f"Bearer {KEY}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        document = json.load(answer)
    found = set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            waits = any(each.get("name") == "wait" for each in operation.get("parameters", ()))
            body = json.dumps(operation.get("requestBody", {}))
            for name, schema in document["components"]["schemas"].items():
                waits |= f'schemas/{name}"' in body and "wait" in schema.get("properties", ())
            media = {kind for one in operation["responses"].values() for kind in one.get("content", {})}
            if waits or media - {"application/json", "application/problem+json"}:
                found.add((method.upper(), path))
    return found


def unread(port: int, method: str, path: str, body: Any = None) -> socket.socket:
    """Open a connection, send a request by the hostile key, and read nothing."""
    connection = socket.socket()
    # So that the answer does not fit into what the systems keep on their own.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    connection.settimeout(10)
    connection.connect(("127.0.0.1", port))
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n"
    if data:
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    connection.sendall(f"{head}\r\n".encode() + data)
    return connection


def answered(port: int, path: str, *, key: str | None = None) -> tuple[int, float]:
    """Return the status of an answer that was read to its end, and how long that took."""
    began = time.monotonic()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if key is not None:
        request.add_header("Authorization", f"Bearer {key}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()
        return answer.status, time.monotonic() - began


def can_export(port: int, key: str) -> bool:
    """Whether an export of that key begins now."""
    try:
        return answered(port, "/api/v1/jobs/export", key=key)[0] == 200
    except urllib.error.HTTPError as error:
        refusal = error
    with refusal:
        told = json.load(refusal)
    assert (told["code"], refusal.headers["Retry-After"]) == ("too_many_exports", "5"), told
    return False


def is_served(port: int) -> bool:
    """Whether the other tenant gets an answer now, not 503 busy, as long as requests stand in line."""
    try:
        return answered(port, "/api/v1/biz-types", key=OTHER_KEY)[0] == 200
    except urllib.error.HTTPError as error:
        error.close()
        return False


def is_refused_beside_another(port: int) -> bool:
    """Whether an export of the hostile key is refused while another one is not being read."""
    with unread(port, "GET", "/jobs/export"):
        return not can_export(port, KEY)


@pytest.mark.slow
@linux
def test_clients_that_read_nothing_hold_up_neither_probes_nor_other_tenants_nor_memory(site: Site) -> None:
    asks: dict[tuple[str, str], list[tuple[str, Any]]] = {
        ("GET", "/v1/jobs/export"): [("/jobs/export", None), ("/jobs/export?format=csv", None)],
        ("GET", "/v1/jobs/{id}"): [(f"/jobs/{site.job_id}?wait=8", None)],
        ("GET", "/v1/biz-types/{code}/jobs/{biz_id}"): [(f"/biz-types/{BIZ_TYPE}/jobs/{BIZ_ID}?wait=8", None)],
        ("POST", "/v1/claims"): [("/claims", {"biz_types": [PULLED], "wait": 8})],
    }
    assert set(asks) == waiting_or_streaming(site.port), "each operation that waits or streams is asked here"
    asks["GET", "/v1/jobs"] = [("/jobs?limit=500", None)]  # a large answer that does neither
    requests = [(method, path, body) for (method, _), each in asks.items() for path, body in each]
    before = site.megabytes()

    with ExitStack() as held:
        for number in range(CLIENTS):
            held.enter_context(unread(site.port, *requests[number % len(requests)]))
        # At once, while the server has hardly begun with all of these.
        at_once = [answered(site.port, path) for path in ("/livez", "/readyz", "/livez")]
        wait_until(lambda: is_served(site.port), otherwise="another tenant is not served")
        asked_then = (("/admin/login/", None), ("/api/v1/biz-types", OTHER_KEY), ("/livez", None), ("/readyz", None))
        seen = [answered(site.port, path, key=key) for path, key in asked_then]
        during = site.megabytes()
        # The one tenant has its share and no more, and the other has its own.
        wait_until(lambda: is_refused_beside_another(site.port), otherwise="a tenant has more than its share")
        assert can_export(site.port, OTHER_KEY)
        # All are still connected, and those that stream are cut off: the share is free again.
        wait_until(lambda: can_export(site.port, KEY), within_seconds=60, otherwise="no client is cut off")

    assert {status for status, _ in (*at_once, *seen)} == {200}
    assert max(seconds for _, seconds in at_once) < 5, at_once
    assert max(seconds for _, seconds in seen) < 1, seen
    assert max(during, site.megabytes()) - before < MOST_MEGABYTES


@linux
def test_only_sockets_that_listen_have_the_bound() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert bound_unread_time(7) >= 1
        with socket.create_connection(server.getsockname()):
            before, _ = server.accept()
            after, _ = server.accept()
            with before, after:
                values = [
                    each.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) for each in (client, server, after)
                ]

    assert values == [0, 7_000, 7_000]
