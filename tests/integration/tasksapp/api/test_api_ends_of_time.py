"""Every time and every number that a request may hold, at both ends of what it can be: done or refused, never a 500."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasksapp.access.callers import last_uses
from tasksapp.access.keys import issue_key
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.series.maker import SeriesMaker
from tasksapp.timers.redis_clock import RedisClock
from tests.integration.tasksapp.api.access_table import TABLE, Place, store_place
from tests.integration.tasksapp.api.time_fields import TIMES, TimedOperation, TimeField, timed_operations
from tests.property_sizes import FACTOR, examples

pytestmark = pytest.mark.django_db

#: Asks an operation with fields of its body and its address; gives the status, and the answer where that is a fault.
Asked = Callable[[TimedOperation, dict[TimeField, Any]], tuple[int, str]]

#: The kinds of schedule, of which a request has one.
SCHEDULES: list[dict[str, Any]] = [
    {"every": 1},
    {"every": 316_224_000},
    {"cron": "* * * * *", "time_zone": "Pacific/Kiritimati"},
    {"cron": "30 0 29 2 *", "time_zone": "America/New_York"},
    {"cron": "*/7 * * * * *"},
]


@pytest.fixture
def place() -> Place:
    return store_place("mine.one", tenant_id=DEFAULT_TENANT, name="mine")


@pytest.fixture
def asked(place: Place, clock: RedisClock) -> Iterator[Asked]:
    """Asks, looks at what was made as its readers and the loader do, and takes it back."""
    last_uses.forget()
    key = issue_key("caller", scopes=list(Scope)).key
    maker = SeriesMaker(using="default", clock=clock)
    client = Client(raise_request_exception=False, headers={"authorization": f"Bearer {key}"})

    def send(operation: TimedOperation, given: dict[TimeField, Any]) -> tuple[int, str]:
        entry = TABLE[operation.method, operation.template]
        body = deepcopy(entry.body(place)) if entry.body else {}
        query = {}
        for field, value in given.items():
            if field in operation.query:
                query[field.path[0]] = value
            else:
                _set(body, field.path, value)
        path = f"/api{entry.path(operation.template, place)}?{urlencode(query)}"
        options: dict[str, Any] = {"headers": entry.headers}
        if operation.method != "GET":
            options |= {"content_type": "application/json", "data": json.dumps(body)}
        answer = getattr(client, operation.method.lower())(path, **options)
        said = answer.getvalue().decode()
        if answer.status_code < 300 and operation.method != "GET":
            for name in ("jobs", "series", "operations"):
                seen = client.get(f"/api/v1/{name}")
                if seen.status_code != 200:
                    return seen.status_code, f"GET /v1/{name} afterwards: {seen.getvalue().decode()}"
            maker.run_once()
        return answer.status_code, said

    def ask(operation: TimedOperation, given: dict[TimeField, Any]) -> tuple[int, str]:
        point = transaction.savepoint()
        try:
            return send(operation, given)
        finally:
            transaction.savepoint_rollback(point)

    yield ask
    last_uses.forget()


def _set(body: Any, path: tuple[str, ...], value: Any) -> None:
    *to, last = path
    for name in to:
        body = body[0] if isinstance(body, list) else body.setdefault(name, {})
    body[last] = value


OPERATIONS = timed_operations()
NAMES = [f"{each.method} {each.template}" for each in OPERATIONS]
#: By night each value, by day every fifth one.
STEP = 1 if FACTOR > 1 else 5


def test_the_document_has_the_times_that_the_walk_is_about() -> None:
    found = {field.path for operation in OPERATIONS for field in operation.body if field.is_time}

    assert {("due_at",), ("times",), ("jobs", "0", "expires_at"), ("filter", "due_from"), ("until",)} <= found


@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES)
def test_each_field_at_its_ends_is_taken_or_refused(asked: Asked, operation: TimedOperation) -> None:
    for number, field in enumerate(operation.body + operation.query):
        for value in field.values[number % STEP :: STEP]:
            if field.path == ("wait",) and value == 1:
                continue
            status, said = asked(operation, {field: value})
            assert status < 500, (field, value, said[:2000])


@given(st.data())
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_fields_at_their_ends_are_taken_or_refused_together(asked: Asked, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from([each for each in OPERATIONS if len(each.body) > 1]))
    fields = data.draw(st.lists(st.sampled_from(operation.body), min_size=2, max_size=5, unique=True))

    status, said = asked(operation, {field: data.draw(st.sampled_from(field.values)) for field in fields})

    assert status < 500, said[:2000]


OF_SERIES = [
    each
    for each in OPERATIONS
    if each.body and each.template.startswith("/v1/series") and "/{id}/" not in each.template
]
#: An occurrence at an end of time, a longest jitter, and bounds there.
AT_THE_ENDS = [
    {**schedule, **fields}
    for schedule in [*SCHEDULES, *({"times": [time]} for time in TIMES)]
    for fields in [{}, {"jitter": 0.5}, *({bound: time} for bound in ("starts_at", "ends_at") for time in TIMES)]
] + [
    {"every": every, "anchor": anchor, "starts_at": starts_at, "jitter": every / 2}
    for every in (1, 31_622_400, 316_224_000)
    for anchor in TIMES
    for starts_at in TIMES[-4:]
]  # fmt: skip


def _schedule(fields: dict[str, Any]) -> dict[TimeField, Any]:
    return {TimeField((name,), is_time=False): value for name, value in {"every": None, **fields}.items()}


@pytest.mark.parametrize("operation", OF_SERIES, ids=[f"{each.method} {each.template}" for each in OF_SERIES])
def test_a_schedule_at_the_ends_of_time_is_taken_or_refused(asked: Asked, operation: TimedOperation) -> None:
    for fields in AT_THE_ENDS[OF_SERIES.index(operation) % STEP :: STEP]:
        status, said = asked(operation, _schedule(fields))
        assert status < 500, (fields, said[:2000])


def test_times_too_near_to_the_end_of_the_calendar_are_refused_by_name(asked: Asked) -> None:
    [create] = [each for each in OF_SERIES if (each.method, each.template) == ("POST", "/v1/series")]

    status, said = asked(create, _schedule({"times": ["9999-12-31T23:59:59Z"], "jitter": 60}))

    assert (status, json.loads(said)["errors"][0]["field"]) == (400, "times")


MOMENTS = st.datetimes(timezones=st.timezones()).map(datetime.isoformat)


@given(
    operation=st.sampled_from(OF_SERIES),
    schedule=st.sampled_from(SCHEDULES) | st.lists(MOMENTS, min_size=1, max_size=3).map(lambda times: {"times": times}),
    fields=st.fixed_dictionaries(
        {},
        optional={
            "starts_at": MOMENTS,
            "ends_at": MOMENTS,
            "jitter": st.sampled_from([0.5, 59, 31_622_400]),
            "count": st.integers(1, 3),
            "catch_up": st.sampled_from(["none", "latest", "all"]),
        },
    ),
)
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_schedule_of_any_times_is_taken_or_refused(
    asked: Asked, operation: TimedOperation, schedule: dict[str, Any], fields: dict[str, Any]
) -> None:
    status, said = asked(operation, _schedule({**schedule, **fields}))

    assert status < 500, said[:2000]
