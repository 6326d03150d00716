"""Biz types over REST, and jobs by their business key."""

from __future__ import annotations

import pytest

from tasksapp.models import ApiKey, BizType
from tasksapp.models.api_key import USUAL_SCOPES, Scope
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)


def test_jobs_are_found_and_changed_by_their_business_key(ask: Ask, biz_type: BizType) -> None:
    first = ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "42", "delay": 60}).json()
    path = "/biz-types/order.close/jobs/42"

    assert ask("GET", path).json()["id"] == first["id"]
    assert ask("PATCH", path, {"delay": 120}).status_code == 200
    second = ask("POST", "/jobs", {"biz_type": "order.close", "biz_id": "42", "delay": 60}).json()
    assert set(problem(ask("POST", f"{path}/cancel"), 409)["ids"]) == {first["id"], second["id"]}
    ask("POST", f"/jobs/{second['id']}/cancel")
    assert ask("POST", f"{path}/cancel").json()["id"] == first["id"]
    problem(ask("POST", f"{path}/cancel"), 404)
    assert ask("GET", path).json()["id"] == second["id"]


def test_biz_types_show_no_secret(ask: Ask, biz_type: BizType) -> None:
    biz_type.signing_secret = "whsec_" + "c2VjcmV0" * 4
    biz_type.save()

    shown = ask("GET", "/biz-types").content + ask("GET", "/biz-types/order.close").content

    assert b"whsec" not in shown
    assert b"c2VjcmV0" not in shown


@pytest.mark.parametrize("path", ["/biz-types", "/biz-types/order.close"])
def test_what_a_caller_has_already_is_not_sent_again(ask: Ask, biz_type: BizType, path: str) -> None:
    etag = ask("GET", path)["ETag"]
    known = ask("GET", path, **{"if-none-match": etag})
    ApiKey.objects.update(scopes=[*USUAL_SCOPES, Scope.BIZ_TYPES_WRITE.value])
    shows_more = ask("GET", path, **{"if-none-match": etag})
    BizType.objects.update(max_attempts=3)

    changed = ask("GET", path, **{"if-none-match": shows_more["ETag"]})

    assert (known.status_code, known.content, known["ETag"]) == (304, b"", etag)
    assert (shows_more.status_code, changed.status_code) == (200, 200), "it shows addresses now, or has other values"
    assert changed["ETag"] not in {etag, shows_more["ETag"]}


@pytest.mark.parametrize("path", ["order.close/jobs/a%00b", "order.close/jobs/%00", "order.close/jobs/%7F"])
def test_a_business_key_that_no_job_can_have_is_not_found(ask: Ask, biz_type: BizType, path: str) -> None:
    problem(ask("GET", f"/biz-types/{path}"), 404)
    problem(ask("PATCH", f"/biz-types/{path}", {"delay": 5}), 404)
    problem(ask("POST", f"/biz-types/{path}/cancel"), 404)
    problem(ask("POST", f"/biz-types/{path}/run"), 404)


def test_biz_types_come_in_pages_by_code(ask: Ask, make_biz_type: MakeBizType) -> None:
    for code in ("c", "a", "b"):
        make_biz_type(code)

    first = ask("GET", "/biz-types?limit=2")
    second = ask("GET", "/biz-types?limit=2&cursor=b")

    assert [row["code"] for row in first.json()["results"]] == ["a", "b"]
    assert first.json()["next"].endswith("/api/v1/biz-types?cursor=b&limit=2")
    assert ([row["code"] for row in second.json()["results"]], second.json()["next"]) == (["c"], None)
    BizType.objects.filter(code="c").delete()
    assert ask("GET", "/biz-types?limit=2").json()["next"] is None
    assert ask("GET", "/biz-types?limit=2", **{"if-none-match": first["ETag"]}).status_code == 200
    problem(ask("GET", "/biz-types?limit=1001"), 400)
    problem(ask("GET", "/biz-types?cursor=%00"), 400)
