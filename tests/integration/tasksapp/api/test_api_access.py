"""Every operation of the schema, asked by callers that may not: 403 without its scope, 404 for what is not theirs.

The operations come from the OpenAPI document, and requests for them from ``access_table``; an operation without a line
there fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from tasksapp.access.callers import last_uses
from tasksapp.access.keys import issue_key
from tasksapp.api.openapi.document import openapi_document
from tasksapp.models import ApiKey, BizType, IdempotencyKey, Job, Operation, Tenant
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT
from tests.integration.tasksapp.api.access_table import TABLE, UNSEEN, Place, store_place

pytestmark = pytest.mark.django_db

#: Asks an operation about a place by a key; gives the response.
AskAs = Callable[[str, Place], Any]


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    last_uses.forget()
    yield
    last_uses.forget()


@pytest.fixture
def mine() -> Place:
    """What the caller may see."""
    return store_place("mine.one", tenant_id=DEFAULT_TENANT, name="mine")


def theirs() -> Place:
    """What belongs to another tenant."""
    acme = Tenant.objects.create(code=f"acme.{UNSEEN}")
    return store_place(f"theirs.{UNSEEN}", tenant_id=acme.pk, name=UNSEEN)


def hidden() -> Place:
    """What belongs to the same tenant, and not to a key that is limited to ``mine``."""
    return store_place(f"hidden.{UNSEEN}", tenant_id=DEFAULT_TENANT, name=UNSEEN)


@pytest.fixture
def ask_as(client: Client, method: str, template: str) -> AskAs:
    """Asks the operation of the test."""

    def ask(key: str, place: Place) -> Any:
        entry = TABLE[method, template]
        options: dict[str, Any] = {"headers": {"authorization": f"Bearer {key}", **entry.headers}}
        if method != "GET":
            options["content_type"] = "application/json"
        if entry.body is not None:
            options["data"] = json.dumps(entry.body(place))
        return getattr(client, method.lower())(f"/api{entry.path(template, place)}", **options)

    return ask


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    """The operations of the document, by method and path."""
    return {
        (method.upper(), path): operation
        for path, methods in openapi_document(prefix="/api")["paths"].items()
        for method, operation in methods.items()
        if isinstance(operation, dict) and "operationId" in operation
    }


def rows() -> list[Any]:
    """What is stored of jobs, biz types, keys and operations; uses of keys apart."""
    keys = ApiKey.objects.exclude(name="caller").order_by("pk").values("pk", "version", "enabled", "prefix")
    return [
        *Job.objects.order_by("pk").values("pk", "status", "version", "due_at"),
        *BizType.objects.order_by("pk").values("pk", "code", "tenant_id", "updated_at"),
        *Operation.objects.order_by("pk").values("pk", "state", "rate_per_second", "reason"),
        *keys,
    ]


each_operation = pytest.mark.parametrize(("method", "template"), list(TABLE))
each_with_scope = pytest.mark.parametrize(("method", "template"), [name for name in TABLE if TABLE[name].scope])
each_without = pytest.mark.parametrize(("method", "template"), [name for name in TABLE if not TABLE[name].scope])


def test_every_operation_of_the_schema_is_in_the_table_with_its_scope() -> None:
    found = operations()

    assert set(found) == set(TABLE), "add a line to access_table.TABLE for each new operation"
    for name, operation in found.items():
        named = operation.get("x-required-scope")
        assert named in {None, TABLE[name].scope}, name


@each_without
def test_an_operation_without_a_scope_takes_a_key(ask_as: AskAs, mine: Place, method: str, template: str) -> None:
    key = issue_key("caller", scopes=[]).key

    assert ask_as(key, mine).status_code == 200
    ApiKey.objects.filter(name="caller").update(enabled=False)
    assert ask_as(key, mine).status_code == 401


@each_with_scope
def test_an_operation_takes_its_scope_and_no_other_does(ask_as: AskAs, mine: Place, method: str, template: str) -> None:
    key, entry = issue_key("caller").key, TABLE[method, template]
    before = rows()

    for scopes in [[], *([scope] for scope in Scope if scope != entry.scope), [*(set(Scope) - {entry.scope})]]:
        ApiKey.objects.filter(name="caller").update(scopes=scopes)
        refused = ask_as(key, mine)
        assert refused.status_code == 403, (scopes, refused.content[:500])
        problem = json.loads(refused.content)
        assert problem["type"].endswith("scope_missing")
        assert problem["scope"] == entry.scope

    assert rows() == before
    ApiKey.objects.filter(name="caller").update(scopes=[entry.scope])
    done = ask_as(key, mine)
    assert done.status_code == entry.done, done.content[:500]
    ApiKey.objects.filter(name="caller").update(enabled=False)
    assert ask_as(key, mine).status_code == 401


@each_operation
@pytest.mark.parametrize("limited", [False, True], ids=["another tenant's", "another biz type's"])
def test_what_a_caller_may_not_see_is_not_there(
    ask_as: AskAs, mine: Place, method: str, template: str, limited: bool
) -> None:
    entry, place = TABLE[method, template], hidden() if limited else theirs()
    limits = {"biz_type_ids": [mine.biz_type.pk]} if limited else {}
    key = issue_key("caller", scopes=list(Scope), **limits).key
    before = rows()

    answer = ask_as(key, place)

    expected = entry.unseen_by(limited)
    if expected is None:
        assert answer.status_code == 200
        said = answer.getvalue()  # of files, too
        assert UNSEEN not in said.decode(), said[:2_000]
        assert rows() == before
    elif expected < 300 and expected != 207:
        # It makes something of the caller's own, under a code that the other tenant has too.
        assert answer.status_code == expected
        assert [row for row in rows() if row in before] == before, "nothing of the other tenant has changed"
    else:
        assert answer.status_code == expected, answer.content[:500]
        assert rows() == before
        if expected == 404:
            missing = ask_as(key, place)
            assert json.loads(missing.content)["title"] == "It does not exist"


def test_idempotency_keys_of_another_tenant_are_other_keys(client: Client) -> None:
    mine = store_place("shop", tenant_id=DEFAULT_TENANT, name="mine")
    acme = Tenant.objects.create(code="acme")
    store_place("shop", tenant_id=acme.pk, name="theirs")
    ours, others = issue_key("ours").key, issue_key("others", tenant_id=acme.pk).key
    asked = {"biz_type": "shop", "idempotency_key": "order-42"}

    made = [
        client.post("/api/v1/jobs", asked, content_type="application/json", headers={"authorization": f"Bearer {key}"})
        for key in (others, ours, ours)
    ]

    assert [answer.status_code for answer in made] == [201, 201, 200]
    first, second, again = (json.loads(answer.content)["id"] for answer in made)
    assert first != second == again
    assert Job.objects.get(pk=second).biz_type_id == mine.biz_type.pk
    assert IdempotencyKey.objects.count() == 2
