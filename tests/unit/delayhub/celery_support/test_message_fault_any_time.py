"""Whatever time Celery's producer takes, our worker runs the message when Celery's would, or lets it expire so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from celery import Celery
from celery.exceptions import InvalidTaskError
from celery.worker.request import Request
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kombu import Message

from delayhub.celery_support.message_fault import fault_of
from delayhub.celery_support.request import OurRequest
from delayhub.clock import LAST_MS, due_ms
from delayhub.transport.envelope import LAST_EXPIRY_MS, from_payload, moment_of, to_entry
from tests.property_sizes import examples

FIRST, LAST = datetime.min, datetime.max  # noqa: DTZ901  without a time zone, as Celery takes them
ZONES = ["", "Z", "+14:00", "-12:00"]
#: Both ends of ``datetime``, without a time zone and in those that are farthest from UTC; and 1970.
ENDS = [
    *(datetime.fromisoformat(f"{FIRST.isoformat()}{zone}") for zone in ZONES),
    *(datetime.fromisoformat(f"{LAST.isoformat()}{zone}") for zone in ZONES),
    *(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=away) for away in (-1, 0, 1)),
]
MOMENTS = st.sampled_from(ENDS) | st.datetimes() | st.datetimes(timezones=st.timezones())
SECONDS = st.sampled_from([0, -1, 0.5, -(2**31), 2**31, 1e18, float("inf"), float("nan")]) | st.integers() | st.floats()


@pytest.fixture(scope="module")
def apps() -> dict[tuple[str | None, bool], Celery]:
    """Apps in several time zones, by the zone and ``enable_utc``."""
    made = {}
    for zone, is_utc in product([None, "Asia/Shanghai", "America/New_York"], [True, False]):
        app = made[zone, is_utc] = Celery("times", set_as_current=False, broker="memory://")
        app.conf.update(timezone=zone, enable_utc=is_utc)

        @app.task(name="t", shared=False, lazy=False)
        def t() -> None:
            """Do nothing."""

    return made


def delivered(headers: dict[str, Any], app: Celery, kind: type[Request]) -> tuple[Message, Callable[[], Request]]:
    """The message as a worker gets it, and what makes its request."""
    message = Message(
        body="[[], {}, {}]",
        headers=headers,
        content_type="application/json",
        content_encoding="utf-8",
        accept={"application/json"},
    )
    return message, lambda: kind(message, app=app, task=app.tasks["t"], utc=app.uses_utc_timezone())


def _examples(test: Any) -> Any:
    for moment in ENDS:
        test = example(settings=(None, True), fields={"eta": moment})(test)
        test = example(settings=("Asia/Shanghai", True), fields={"expires": moment})(test)
    test = example(settings=(None, True), fields={"countdown": -(2**31)})(test)
    return example(settings=("Asia/Shanghai", False), fields={"eta": datetime(2030, 1, 1, 12)})(test)  # noqa: DTZ001  as Celery takes it


@given(
    settings=st.tuples(st.sampled_from([None, "Asia/Shanghai", "America/New_York"]), st.booleans()),
    fields=st.fixed_dictionaries({}, optional={"eta": MOMENTS, "countdown": SECONDS, "expires": MOMENTS | SECONDS}),
)
@settings(max_examples=examples(200))
@_examples
def test_what_celerys_producer_takes_runs_when_celery_runs_it(
    apps: dict[tuple[str | None, bool], Celery], settings: tuple[str | None, bool], fields: dict[str, Any]
) -> None:
    app = apps[settings]
    try:
        asked = app.amqp.as_task_v2("1", "t", **fields).headers
    except (ValueError, OverflowError):
        return  # Celery refuses it where it is published
    try:
        of_celery = delivered(asked, app, Request)[1]()
    except (InvalidTaskError, OverflowError):
        # It cannot read an offset with seconds, and a worker ends where a moment has no date in the app's time zone.
        of_celery = None

    wire = {"body": "", "headers": dict(asked), "properties": {"delivery_tag": "tag", "delivery_info": {}}}
    entry = to_entry(wire, priority_steps=[0])
    message, make = delivered(from_payload(entry.payload)["headers"], app, OurRequest)
    assert fault_of(message) is None
    request = make()
    assert request.eta is None, "the worker would wait for it by itself"
    if of_celery is not None and of_celery.eta is not None:
        assert entry.due_ms == min(max(0, due_ms(of_celery.eta)), LAST_MS)
    if asked["expires"] is not None:
        expires_ms = due_ms(moment_of(asked["expires"]))
        bounded_ms = min(max(0, expires_ms), LAST_EXPIRY_MS)
        assert due_ms(request.expires) in {expires_ms, bounded_ms}
        assert of_celery is None or due_ms(request.expires) == due_ms(of_celery.expires) or expires_ms != bounded_ms
