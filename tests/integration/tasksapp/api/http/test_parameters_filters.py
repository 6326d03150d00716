"""Lists of jobs: what they can be filtered by, and what is refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tasksapp.models import ApiKey, BizType, Job, Status
from tasksapp.models.api_key import Scope
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)


def test_lists_are_filtered_and_paged(ask: Ask, biz_type: BizType) -> None:
    other = BizType.objects.create(code="other", url="https://receiver.example/")
    for number in range(5):
        ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": f"b{number}", "delay": 60 * number})
    ask("POST", "/jobs", {"biz_type": other.code, "biz_id": "b1"})
    Job.objects.filter(biz_id="b3").update(status=Status.DEAD)

    def ids(query: str) -> list[str]:
        return [job["biz_id"] for job in ask("GET", f"/jobs?{query}").json()["results"]]

    assert ids("biz_type=order.close") == ["b4", "b3", "b2", "b1", "b0"]
    assert ids("status=dead") == ["b3"]
    assert ids("status=dead&status=pending&biz_type=order.close&biz_id=b1") == ["b1"]
    soon = (timezone.now() + timedelta(seconds=90)).isoformat().replace("+", "%2B")
    assert ids(f"due_from={soon}") == ["b4", "b3", "b2"]
    page = ask("GET", "/jobs?limit=4").json()
    rest = ask("GET", page["next"].partition("/api/v1")[2]).json()
    assert len(page["results"]) == 4
    assert [job["biz_id"] for job in rest["results"]] == ["b1", "b0"]
    assert rest["next"] is None


@pytest.mark.parametrize(
    "query",
    [
        *("status=nope", "colour=red", "limit=0", "limit=x", "cursor=x", "due_from=soon", "biz_id=%00"),
        "&".join(f"x{number}=1" for number in range(1_001)),  # more than Django reads
        "due_from=0001-01-01T00:00:00%2B10:00",  # before the first year, in UTC
    ],
)
def test_a_filter_that_cannot_be_is_refused(ask: Ask, query: str) -> None:
    problem(ask("GET", f"/jobs?{query}"), 400)


@pytest.mark.parametrize(
    "query", ["keys?name=", "keys?enabled=", "series?biz_type=", "series?name=", "operations?verb="]
)
def test_other_lists_take_no_empty_filter_for_none(ask: Ask, query: str) -> None:
    ApiKey.objects.update(scopes=Scope.values)

    (error,) = problem(ask("GET", f"/{query}"), 400)["errors"]

    assert error["field"] in query
    assert "must not be empty" in error["message"]


def test_a_filter_takes_offsets_that_no_place_on_earth_has(ask: Ask, biz_type: BizType) -> None:
    ask("POST", "/jobs", {"biz_type": "order.close"})

    assert len(ask("GET", "/jobs?created_from=2020-01-01T00:00:00-18:38").json()["results"]) == 1


@pytest.mark.parametrize(("charset", "value"), [("unicode_escape", "%5Cud800"), ("utf-7", "%2B2AA-")])
def test_filters_are_read_as_utf8_whatever_charset_the_request_names(ask: Ask, charset: str, value: str) -> None:
    """Of some charsets half a surrogate pair can be made."""
    answer = ask("GET", f"/jobs?biz_id={value}", **{"content-type": f"application/json; charset={charset}"})

    assert answer.status_code == 200
    assert answer.json()["results"] == []
