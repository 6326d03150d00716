"""Reading one job: a long poll ends when the job changes, and says where nothing did."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from tasksapp.api.http import waiting
from tasksapp.models import ApiKey, BizType, Job
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem
from tests.job_rows import store_job
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


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
        answer = reading.result(timeout=60)

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


@pytest.mark.parametrize("change", [{"enabled": False}, {"scopes": ["stats"]}])
def test_a_wait_ends_when_its_key_may_not_read_any_more(
    ask: Ask, biz_type: BizType, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    job = store_job(biz_type)
    revoke = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: ApiKey.objects.update(**change))
    monkeypatch.setattr(waiting, "time", revoke)

    problem(ask("GET", f"/jobs/{job.id}?wait=50"), 401)


def test_a_job_that_is_deleted_meanwhile_is_a_404(ask: Ask, biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    job = store_job(biz_type)
    delete = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: Job.objects.all().delete())
    monkeypatch.setattr(waiting, "time", delete)

    problem(ask("GET", f"/jobs/{job.id}?wait=50"), 404)


@pytest.mark.parametrize("wait", ["-1", "56", "x", "", "1.5", "٣", "9" * 5_000])
def test_a_wait_that_cannot_be_is_refused(ask: Ask, biz_type: BizType, wait: str) -> None:
    (error,) = problem(ask("GET", f"/jobs/{store_job(biz_type).id}?wait={wait}"), 400)["errors"]

    assert error["field"] == "wait"
