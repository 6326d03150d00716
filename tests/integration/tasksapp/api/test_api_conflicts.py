"""Every operation of the API that writes, where its transaction meets another one: it passes, or says so with 503."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from tasksapp.access.callers import last_uses
from tasksapp.access.keys import issue_key
from tasksapp.models import Job
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT
from tests.integration.tasksapp.api.access_table import TABLE, Entry, Place, store_place
from tests.integration.tasksapp.conflicting import conflicts as refused_writes

pytestmark = pytest.mark.django_db(transaction=True)

#: What sends a request to a receiver is not done twice by itself.
ONCE = {("POST", "/v1/biz-types/{code}/test")}
WRITING = sorted(key for key in TABLE if key[0] != "GET" and key not in ONCE)


@pytest.fixture
def mine() -> Place:
    last_uses.forget()
    return store_place("mine.one", tenant_id=DEFAULT_TENANT, name="mine")


@pytest.fixture
def key(mine: Place) -> str:
    return issue_key("caller", scopes=Scope.values).key


def ask(client: Client, key: str, method: str, template: str, place: Place) -> Any:
    entry: Entry = TABLE[method, template]
    options: dict[str, Any] = {"headers": {"authorization": f"Bearer {key}", **entry.headers}}
    if method != "GET":
        options["content_type"] = "application/json"
    if entry.body is not None:
        options["data"] = json.dumps(entry.body(place))
    return getattr(client, method.lower())(f"/api{entry.path(template, place)}", **options)


#: Operations whose line of the table finds nothing to write, or is refused.
WRITES_NOTHING = {
    ("DELETE", "/v1/biz-types/{code}"),
    ("POST", "/v1/biz-types/{code}/end-rotation"),
    ("POST", "/v1/biz-types/{code}/key-pairs/end-rotation"),
    ("POST", "/v1/biz-types/{code}/key-pairs/retire"),
    ("POST", "/v1/biz-types/{code}/resume"),
    ("POST", "/v1/claims"),
    ("POST", "/v1/jobs/{id}/links"),
    ("POST", "/v1/jobs/{id}/run-again"),
    ("POST", "/v1/keys/{id}/end-previous"),
    ("POST", "/v1/series/preview"),
    ("POST", "/v1/series/{id}/resume"),
    ("PUT", "/v1/biz-type-definitions"),
}


@pytest.mark.parametrize(("method", "template"), WRITING, ids=lambda part: part)
def test_a_request_whose_writes_meet_others_is_done(
    client: Client, mine: Place, key: str, method: str, template: str
) -> None:
    ask(client, key, "GET", "/v1/jobs", mine)  # notes the use of the key

    with refused_writes() as refusing:
        answer = ask(client, key, method, template, mine)

    # Within a caller's transaction, as in the tests that the table is for, a resolve cannot be finished at once.
    expected = 200 if template == "/v1/resolve" else TABLE[method, template].done
    assert answer.status_code == expected, (answer.content, refusing.refused)
    assert refusing.refused or (method, template) in WRITES_NOTHING


def test_a_key_that_several_use_at_once_is_noted(client: Client, mine: Place, key: str) -> None:
    with refused_writes() as refusing:
        answer = ask(client, key, "GET", "/v1/jobs", mine)

    assert answer.status_code == 200
    assert any("last_used_at" in statement for statement in refusing.refused)


def test_a_create_that_meets_others_each_time_is_a_503_that_says_so(client: Client, mine: Place, key: str) -> None:
    ask(client, key, "GET", "/v1/jobs", mine)

    with refused_writes(always=True):
        answer = ask(client, key, "POST", "/v1/jobs", mine)

    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (503, "write_conflict", "1")
    assert not Job.objects.filter(biz_id="new").exists()
