"""A site below a path, as SITE_URL names it: the proxy takes the path off, and all that the site says has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from delayhub.client import Client
from tests.web_server import BIZ_TYPE, KEY, prepare_database, web_server

pytestmark = pytest.mark.slow

PATH = "/hub"
SITE_URL = f"https://delayhub.example{PATH}/"
CALLER = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("below")
    prepare_database(folder)
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[httpx.Client]:
    """What a proxy asks that takes the path off."""
    with (
        web_server(folder, DELAYHUB_SITE_URL=SITE_URL, DELAYHUB_SCHEMA_ACCESS="anyone") as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=CALLER) as client,
    ):
        yield client


def test_pages_and_their_static_files_are_below_the_path(site: httpx.Client) -> None:
    start, page = site.get("/"), site.get("/admin/login/")

    assert start.headers["Location"] == f"{PATH}/admin/"
    found = set(re.findall(r'(?:href|src)="(/[^"]+\.(?:css|js))"', page.text))
    assert len(found) > 1
    assert {address.partition("/static/")[0] for address in found} == {PATH}
    assert {site.get(address.removeprefix(PATH)).status_code for address in found} == {200}


def test_what_the_api_says_is_below_the_path(site: httpx.Client) -> None:
    api = f"{PATH}/api/v1"
    made = [site.post("/api/v1/jobs", json={"biz_type": BIZ_TYPE, "delay": 60}) for _ in range(2)]

    assert made[0].headers["Location"] == f"{api}/jobs/{made[0].json()['id']}"
    assert f"{api}/jobs?" in site.get("/api/v1/jobs?limit=1").json()["next"]
    assert site.get("/api/schema").json()["servers"][0]["url"] == f"{PATH}/api"
    assert site.get("/api/v1/nothing").json()["type"].startswith(f"{PATH}/api/problems/")


def test_probes_are_asked_without_the_path_also_where_all_else_is_told_to_take_https(folder: Path) -> None:
    with web_server(folder, DELAYHUB_SITE_URL=SITE_URL, DELAYHUB_HTTPS="1") as port:
        answers = {path: httpx.get(f"http://127.0.0.1:{port}{path}") for path in ("/livez", "/readyz", "/admin/")}

    assert {path: answer.status_code for path, answer in answers.items()} == {
        "/livez": 200,
        "/readyz": 200,
        "/admin/": 301,
    }
    assert answers["/admin/"].headers["Location"].endswith(f"{PATH}/admin/")


def test_over_asgi_the_path_stays_and_clients_have_it_in_their_address(folder: Path) -> None:
    with web_server(folder, interface="asgi", DELAYHUB_SITE_URL=SITE_URL, DELAYHUB_HTTPS="") as port:
        with Client(f"http://127.0.0.1:{port}{PATH}", api_key=KEY) as client:
            made = client.jobs.create(BIZ_TYPE, delay=60)
            assert made.id in {job.id for job in client.jobs.list(page_size=1)}
        style = httpx.get(f"http://127.0.0.1:{port}{PATH}/static/tasksapp/site.css")
        probe = httpx.get(f"http://127.0.0.1:{port}/livez")

    assert (style.status_code, probe.status_code) == (200, 200)
