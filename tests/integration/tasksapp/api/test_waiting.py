"""Long polls: they end when the job changes, hold back few threads, and say so where there is no room."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connections
from django.test import Client, RequestFactory
from rest_framework.request import Request

from tasksapp.api import waiting
from tasksapp.api.http.problems import Refused
from tasksapp.models import BizType, Job
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem
from tests.job_rows import store_job
from tests.waiting import wait_until
from tests.web_server import BIZ_TYPE, Asked, asked, prepare_database, web_server

pytestmark = pytest.mark.django_db(transaction=True)


def request_that(**meta: Any) -> Request:
    """A request on a server with several threads, unless it is said."""
    return Request(RequestFactory().get("/api/v1/jobs/x", **{"wsgi.multithread": True, **meta}))


def test_a_wait_ends_when_the_job_changes(ask: Ask, key: str, biz_type: BizType) -> None:
    job = store_job(biz_type)
    etag = ask("GET", f"/jobs/{job.id}")["ETag"]

    def read() -> Any:
        headers = {"authorization": f"Bearer {key}", "if-none-match": etag}
        return Client(**{"wsgi.multithread": True}).get(f"/api/v1/jobs/{job.id}?wait=50", headers=headers)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(in_a_thread, read)
        wait_until(lambda: waiting._waiting == 1)
        ask("POST", f"/jobs/{job.id}/cancel")
        answer = reading.result(timeout=20)

    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert waiting._waiting == 0


def in_a_thread(call: Any) -> Any:
    """The call's result; its thread's database connections are closed."""
    try:
        return call()
    finally:
        connections.close_all()


@pytest.fixture
def client() -> Client:
    """A client whose requests come to a server with several threads."""
    return Client(**{"wsgi.multithread": True})


@pytest.mark.parametrize(
    ("header", "status"),
    [
        # the state that it is in: nothing new after the wait
        ("{etag}", 304),
        # another state: it has changed already
        ('"1-pending-0-0"', 200),
        # none: the wait is for a change from now on
        ("", 200),
    ],
)
def test_without_a_change_the_answer_comes_at_the_end_of_the_wait(
    ask: Ask, biz_type: BizType, header: str, status: int
) -> None:
    job = store_job(biz_type)
    etag = ask("GET", f"/jobs/{job.id}")["ETag"]
    given = {"if-none-match": header.format(etag=etag)} if header else {}
    began = time.monotonic()

    answer = ask("GET", f"/jobs/{job.id}?wait=1", **given)

    waited = time.monotonic() - began
    assert (answer.status_code, answer["ETag"]) == (status, etag)
    assert (waited >= 1) == (header != '"1-pending-0-0"')


def test_a_job_that_is_deleted_meanwhile_is_a_404(ask: Ask, biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    job = store_job(biz_type)
    delete = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: Job.objects.all().delete())
    monkeypatch.setattr(waiting, "time", delete)

    problem(ask("GET", f"/jobs/{job.id}?wait=50"), 404)


@pytest.mark.parametrize("wait", ["-1", "56", "x", "", "1.5", "٣", "9" * 5_000])
def test_a_wait_that_cannot_be_is_refused(ask: Ask, biz_type: BizType, wait: str) -> None:
    (error,) = problem(ask("GET", f"/jobs/{store_job(biz_type).id}?wait={wait}"), 400)["errors"]

    assert error["field"] == "wait"


@pytest.mark.parametrize(
    ("most", "meta"),
    [
        (0, {}),
        # a process with one thread would answer nothing else
        (5, {"wsgi.multithread": False}),
    ],
)
def test_where_there_is_no_room_a_wait_is_refused_at_once(settings: Any, most: int, meta: dict[str, Any]) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "LONG_POLLS": most}

    with pytest.raises(Refused) as refused:
        waiting.wait_until(int, is_over=bool, seconds=50, request=request_that(**meta))

    told = refused.value.problem
    assert (told.status, told.code, told.headers["Retry-After"]) == (429, "too_many_waits", "5")


def test_room_is_given_back_also_after_a_failure() -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            waiting.wait_until(lambda: 1 / 0, is_over=bool, seconds=50, request=request_that())

    assert waiting._waiting == 0


def test_many_waits_leave_the_web_server_threads_for_all_others(tmp_path: Path) -> None:
    """Four threads, two of them for waits: of twelve clients that wait two get room, and nothing else is held up."""
    prepare_database(tmp_path)
    with web_server(tmp_path, threads=4, DELAYHUB_LONG_POLLS="2") as port:
        job = asked(port, "POST", "/jobs", {"biz_type": BIZ_TYPE, "delay": 3600})
        path = f"/jobs/{job.json['id']}"

        def wait(_: int) -> Asked:
            return asked(port, "GET", f"{path}?wait=20")

        with ThreadPoolExecutor(12) as pool:
            waits = [pool.submit(wait, number) for number in range(12)]
            wait_until(lambda: sum(each.done() for each in waits) == 10)
            began = time.monotonic()
            others = [asked(port, "GET", path) for _ in range(20)]
            took = time.monotonic() - began
            asked(port, "POST", f"{path}/cancel", {})
            answers = [each.result(timeout=30) for each in waits]

    assert sorted(answer.status for answer in answers) == [200] * 2 + [429] * 10
    assert {answer.json["code"] for answer in answers if answer.status == 429} == {"too_many_waits"}
    assert {answer.json["status"] for answer in answers if answer.status == 200} == {"cancelled"}
    assert {answer.status for answer in others} == {200}
    assert took < 10, "they waited for those that wait"
