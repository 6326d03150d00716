"""Waits hold back few threads of a process, give their room back, and say so where there is none."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from rest_framework.request import Request

from tasksapp.api.http import waiting
from tasksapp.api.http.problems import Refused
from tests.waiting import wait_until
from tests.web_server import BIZ_TYPE, Asked, asked, prepare_database, web_server

pytestmark = pytest.mark.django_db(transaction=True)


def request_that(**meta: Any) -> Request:
    """A request on a server with several threads, unless it is said."""
    return Request(RequestFactory().get("/api/v1/jobs/x", **{"wsgi.multithread": True, **meta}))


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
    assert (told.status, told.code, told.again_seconds) == (429, "too_many_waits", 5)


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
            answers = [each.result(timeout=60) for each in waits]

    assert sorted(answer.status for answer in answers) == [200] * 2 + [429] * 10
    assert {answer.json["code"] for answer in answers if answer.status == 429} == {"too_many_waits"}
    assert {answer.json["status"] for answer in answers if answer.status == 200} == {"cancelled"}
    assert {answer.status for answer in others} == {200}
    assert took < 10, "they waited for those that wait"
