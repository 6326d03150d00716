"""Every answer of the API has an id, the caller's own if that is sane; problem documents and log lines have it too."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from django.test import Client, RequestFactory

from delayhub.request_ids import RequestIdFilter, current_request_id
from tasksapp.api.http import problems
from tasksapp.models import BizType
from tests.fixture_types import Ask

pytestmark = pytest.mark.django_db(transaction=True)

HEADER = "X-Request-Id"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        # past REST framework's dispatch, through it, refused, and where nothing is
        ("POST", "/jobs", {"biz_type": "order.close"}),
        ("GET", "/jobs", None),
        ("POST", "/jobs", {"biz_type": "nope"}),
        ("GET", "/jobs/nothing", None),
    ],
)
def test_the_callers_id_comes_back(ask: Ask, biz_type: BizType, method: str, path: str, body: Any) -> None:
    answer = ask(method, path, body, **{"x-request-id": "shop-7/42"})

    assert answer[HEADER] == "shop-7/42"
    if answer.status_code >= 400:
        assert answer.json()["request_id"] == "shop-7/42"


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "a\nb", "né", "{}", "-x"])
def test_an_id_that_is_not_fit_for_a_log_is_replaced(ask: Ask, given: str) -> None:
    answer = ask("GET", "/jobs", **{"x-request-id": given})

    assert len(answer[HEADER]) == 16


def test_each_request_without_an_id_gets_one_of_its_own(ask: Ask) -> None:
    assert ask("GET", "/jobs")[HEADER] != ask("GET", "/jobs")[HEADER]


def test_refusals_without_a_view_have_one_too_and_a_failed_view_keeps_its_own(client: Client) -> None:
    request = RequestFactory().get("/api/v1/jobs", headers={"x-request-id": "r-1"})

    answers = [problems.server_error(request), problems.bad_request(request, ValueError())]

    assert [answer[HEADER] for answer in answers] == ["r-1", "r-1"]
    assert json.loads(answers[0].content)["request_id"] == "r-1"
    assert client.get("/api/v1/nothing")[HEADER]


def test_what_is_logged_meanwhile_names_the_request(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(RequestIdFilter())
    monkeypatch.setattr("tasksapp.api.jobs.views.list_jobs", lambda *_: 1 / 0)

    with caplog.at_level(logging.ERROR):
        answer = ask("GET", "/jobs", **{"x-request-id": "r-2"})

    assert answer.status_code == 500
    assert {record.__dict__["request_id"] for record in caplog.records if record.name.startswith("tasksapp")} == {"r-2"}
    assert current_request_id.get() == ""
