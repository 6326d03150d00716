"""Callers issue and change keys of their own tenant, and give no more than they have themselves.

What ``requests`` refuses and ``representation`` shows is seen here, too.
What a key may be like says ``key_validation``, whose complaints the views answer with.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.access.callers import find_caller
from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey, AuditEntry, BizType, Tenant
from tasksapp.models.api_key import Scope
from tests.fixture_types import Ask, MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)

NEW = {"name": "till", "scopes": ["jobs:read"]}


@pytest.fixture
def ask(ask: Ask, key: str) -> Ask:
    """The caller has every scope."""
    ApiKey.objects.update(scopes=list(Scope.values))
    return ask


def own(**columns: Any) -> None:
    """Changes the caller's own key."""
    ApiKey.objects.filter(name="caller").update(**columns)


def body(answer: Any) -> Any:
    return json.loads(answer.content)


def test_a_key_that_was_issued_works_and_is_shown_once(ask: Ask, biz_type: BizType) -> None:
    asked = {**NEW, "owner": "Ada", "biz_types": ["order.close"], "expires_at": "2099-01-31T09:00:00+01:00"}

    answer = ask("POST", "/keys", asked)

    shown = body(answer)
    assert answer.status_code == 201
    caller = find_caller(shown.pop("key"))
    assert caller is not None
    assert (caller.name, caller.scopes, caller.biz_type_ids) == ("till", {"jobs:read"}, {biz_type.pk})
    assert body(ask("GET", answer["Location"].removeprefix("/api/v1"))) == {
        **shown, "last_used_at": shown["last_used_at"] or body(ask("GET", f"/keys/{shown['id']}"))["last_used_at"],
    }  # fmt: skip
    assert (shown["biz_types"], shown["expires_at"]) == (["order.close"], "2099-01-31T08:00:00Z")
    assert [row["name"] for row in body(ask("GET", "/keys"))["results"]] == ["till", "caller"]
    assert [row["name"] for row in body(ask("GET", "/keys?name=caller&enabled=true"))["results"]] == ["caller"]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.address) == ("api:caller", "key.issue", "127.0.0.1")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"name": ""}, "name"),
        ({"name": 7}, "name"),
        ({"name": "caller"}, "name"),
        ({"name": "a\u0000b"}, "name"),
        ({"owner": None}, "owner"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes"),
        ({"scopes": "keys"}, "scopes"),
        ({"scopes": [["keys"]]}, "scopes"),
        ({"biz_types": []}, "biz_types"),
        ({"biz_types": ["missing"]}, "biz_types"),
        ({"biz_types": ["\u0000"]}, "biz_types"),
        ({"biz_types": [1]}, "biz_types"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"enabled": 1}, "enabled"),
        ({"tenant": 2}, "tenant"),
    ],
)
def test_a_key_that_there_cannot_be_is_refused_by_field(ask: Ask, fields: dict[str, Any], named: str) -> None:
    answer = ask("POST", "/keys", {**NEW, **fields})

    assert (answer.status_code, body(answer)["errors"][0]["field"]) == (400, named)
    assert ApiKey.objects.count() == 1


def test_a_key_gives_no_scope_that_it_does_not_have(ask: Ask) -> None:
    own(scopes=["keys", "jobs:read"])
    greater = issue_key("greater", scopes=["keys", "stats"]).row.pk

    for method, path, asked in [
        ("POST", "/keys", {**NEW, "scopes": ["jobs:read", "stats"]}),
        ("PATCH", f"/keys/{greater}", {"owner": "me"}),
        ("PATCH", f"/keys/{greater}", {"scopes": ["jobs:read"]}),
        ("PATCH", f"/keys/{ApiKey.objects.get(name='caller').pk}", {"scopes": ["keys", "stats"]}),
        ("POST", f"/keys/{greater}/rotate", {}),
    ]:
        answer = ask(method, path, asked)
        assert (answer.status_code, body(answer)["scope"]) == (403, "stats"), (method, path)
    assert ask("POST", "/keys", NEW).status_code == 201
    assert ask("PATCH", f"/keys/{greater}", {"enabled": False}).status_code == 200
    assert ask("DELETE", f"/keys/{greater}").status_code == 204


def test_a_key_that_is_limited_to_biz_types_gives_and_sees_only_these(ask: Ask, make_biz_type: MakeBizType) -> None:
    mine, other = make_biz_type("mine"), make_biz_type("other")
    whole = issue_key("whole").row.pk
    foreign = issue_key("foreign", biz_type_ids=[mine.pk, other.pk]).row.pk
    own(biz_type_ids=[mine.pk])

    for asked in (NEW, {**NEW, "biz_types": None}, {**NEW, "biz_types": ["mine", "other"]}):
        assert body(ask("POST", "/keys", asked))["errors"][0]["field"] == "biz_types"
    made = body(ask("POST", "/keys", {**NEW, "biz_types": ["mine"]}))["id"]
    assert ask("PATCH", f"/keys/{made}", {"biz_types": None}).status_code == 400
    for hidden in (whole, foreign):
        assert ask("GET", f"/keys/{hidden}").status_code == 404
        assert ask("DELETE", f"/keys/{hidden}").status_code == 404
    assert [row["name"] for row in body(ask("GET", "/keys"))["results"]] == ["till", "caller"]


def test_a_key_gives_no_more_time_than_it_has(ask: Ask) -> None:
    ends = timezone.now() + timedelta(hours=1)
    own(expires_at=ends)
    eternal = issue_key("eternal").row.pk

    for answer in (
        ask("POST", "/keys", NEW),
        ask("POST", "/keys", {**NEW, "expires_at": "2099-01-01T00:00:00Z"}),
        ask("POST", f"/keys/{eternal}/rotate", {}),
        ask("PATCH", f"/keys/{ApiKey.objects.get(name='caller').pk}", {"expires_at": None}),
    ):
        assert body(answer)["errors"][0]["field"] == "expires_at"
    assert ask("POST", "/keys", {**NEW, "expires_at": ends.isoformat()}).status_code == 201


def test_keys_of_another_tenant_are_not_there_and_their_names_are_free(ask: Ask) -> None:
    acme = Tenant.objects.create(code="acme")
    theirs = issue_key("till", tenant_id=acme.pk).row.pk

    assert ask("GET", f"/keys/{theirs}").status_code == 404
    assert ask("PATCH", f"/keys/{theirs}", {"owner": "me"}).status_code == 404
    assert ask("POST", f"/keys/{theirs}/rotate", {}).status_code == 404
    assert ask("POST", f"/keys/{theirs}/end-previous", {}).status_code == 404
    assert ask("DELETE", f"/keys/{theirs}").status_code == 404
    assert [row["name"] for row in body(ask("GET", "/keys"))["results"]] == ["caller"]
    issued = ask("POST", "/keys", NEW)
    assert issued.status_code == 201
    assert ApiKey.objects.get(pk=body(issued)["id"]).tenant_id != acme.pk


def test_a_rotated_key_has_an_overlap_that_can_be_ended(ask: Ask) -> None:
    row, old = issue_key("till", scopes=["stats"])

    rotated = body(ask("POST", f"/keys/{row.pk}/rotate", {"overlap_seconds": 60, "version": 1}))

    assert find_caller(old) is not None
    assert find_caller(rotated["key"]) is not None
    assert (rotated["previous_prefix"], rotated["version"]) == (old[:11], 2)
    stale = ask("POST", f"/keys/{row.pk}/end-previous", {"version": 1})
    assert (stale.status_code, body(stale)["version"]) == (409, 2)
    ended = body(ask("POST", f"/keys/{row.pk}/end-previous", {}))
    assert (ended["previous_prefix"], ended["previous_until"]) == (None, None)
    assert find_caller(old) is None
    for wrong in (-1, 7_776_001, True, "1", 1e300):
        assert ask("POST", f"/keys/{row.pk}/rotate", {"overlap_seconds": wrong}).status_code == 400


def test_a_key_that_revokes_itself_is_refused_at_its_next_call(ask: Ask) -> None:
    mine = ApiKey.objects.get().pk

    assert ask("DELETE", f"/keys/{mine}").status_code == 204
    assert ask("GET", "/keys").status_code == 401
    assert not ApiKey.objects.exists()


def test_a_key_that_was_revoked_while_its_request_was_under_way_gives_nothing(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*args: Any, **kwargs: Any) -> None:
        own(version=2, scopes=["stats"])

    monkeypatch.setattr("tasksapp.api.keys.views.check_grant", meanwhile)

    assert ask("POST", "/keys", NEW).status_code == 401
    assert ApiKey.objects.count() == 1
