"""A caller of the REST API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from tasksapp.access.callers import last_uses
from tasksapp.access.keys import forget_wrong_keys, issue_key
from tasksapp.models import ApiKey, BizType, Scope
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.pulled_jobs import Pull


@pytest.fixture(autouse=True)
def _no_wrong_keys() -> None:
    """No address has sent wrong keys yet."""
    forget_wrong_keys()


@pytest.fixture
def key(db: None) -> Iterator[str]:
    """An API key."""
    last_uses.forget()
    yield issue_key("caller").key
    last_uses.forget()


@pytest.fixture
def full_key(key: str) -> str:
    """The same API key, with every scope."""
    ApiKey.objects.filter(name="caller").update(scopes=Scope.values)
    return key


@pytest.fixture
def ask_fully(full_key: str, ask: Ask) -> Ask:
    """Asks as ``ask`` does, with every scope."""
    return ask


@pytest.fixture
def ask(key: str, ask_as: Callable[[str], Ask]) -> Ask:
    """Asks the API: method, path below /api/v1, JSON body; gives the response."""
    return ask_as(key)


@pytest.fixture
def ask_as(client: Client) -> Callable[[str], Ask]:
    """Gives what asks the API with a key."""

    def with_key(key: str) -> Ask:
        def ask(method: str, path: str, body: Any = None, **headers: str) -> Any:
            options: dict[str, Any] = {"headers": {"authorization": f"Bearer {key}", **headers}}
            if method != "GET":
                options |= {"data": b"" if body is None else body, "content_type": "application/json"}
            return getattr(client, method.lower())(f"/api/v1{path}", **options)

        return ask

    return with_key


@pytest.fixture
def report(make_biz_type: MakeBizType) -> BizType:
    """A biz type whose jobs are pulled."""
    return make_biz_type("report", url="", target="pull", timeout_seconds=20, backoff_min_seconds=50, jitter=0)


@pytest.fixture
def puller(key: str) -> ApiKey:
    """The caller's key, which may do nothing but pull."""
    ApiKey.objects.filter(name="caller").update(scopes=["jobs:pull"])
    return ApiKey.objects.get(name="caller")


@pytest.fixture
def pull(report: BizType, puller: ApiKey, ask: Ask) -> Pull:
    def claim(**fields: Any) -> list[dict[str, Any]]:
        answer = ask("POST", "/claims", {"biz_types": ["report"], **fields})
        assert answer.status_code == 200, answer.content
        found: list[dict[str, Any]] = json.loads(answer.content)["claims"]
        return found

    return claim
