"""Messages as kombu has them and as the engine keeps them: due times, ids, priorities, and what is unreadable."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from delayhub.transport.envelope import DUE_HEADER, Unreadable, from_payload, to_entry

STEPS = [0, 3, 6, 9]
BERLIN = ZoneInfo("Europe/Berlin")


def message(**headers: Any) -> dict[str, Any]:
    return {"body": "[]", "headers": headers, "properties": {"delivery_tag": "tag-1", "priority": 0}}


def stored(entry: Any) -> dict[str, Any]:
    return dict(json.loads(entry.payload)["headers"])


@pytest.mark.parametrize(
    ("eta", "due"),
    [
        ("2026-07-01T12:00:00+00:00", datetime(2026, 7, 1, 12, tzinfo=UTC)),
        # Celery's workers read an eta without a time zone in UTC
        ("2026-07-01T12:00:00", datetime(2026, 7, 1, 12, tzinfo=UTC)),
        # before 1970 means now
        ("1969-07-20T20:17:40+00:00", datetime(1970, 1, 1, tzinfo=UTC)),
        ("2026-07-01T12:00:00Z", datetime(2026, 7, 1, 12, tzinfo=UTC)),
        (datetime(2026, 7, 1, 12, tzinfo=UTC), datetime(2026, 7, 1, 12, tzinfo=UTC)),
    ],
)
def test_an_eta_becomes_the_due_time(eta: Any, due: datetime) -> None:
    entry = to_entry(message(id="t", eta=eta), priority_steps=STEPS)

    assert entry.due_ms == due.timestamp() * 1000
    assert stored(entry)["eta"] is None
    assert stored(entry)[DUE_HEADER] == entry.due_ms


def test_the_message_itself_is_not_touched() -> None:
    given = message(id="t", eta="2026-07-01T12:00:00+00:00", **{DUE_HEADER: 5})
    before = copy.deepcopy(given)

    to_entry(given, priority_steps=STEPS)

    assert given == before


def test_a_due_header_of_an_earlier_delivery_is_dropped() -> None:
    entry = to_entry(message(id="t", eta=None, **{DUE_HEADER: 4_000_000_000_000}), priority_steps=STEPS)

    assert entry.due_ms == 0
    assert DUE_HEADER not in stored(entry)


@pytest.mark.parametrize(
    ("task_id", "expected"),
    [
        ("task-1", "task-1"),
        # nothing to name it by
        (None, "tag-1"),
        ("", "tag-1"),
        # too long to be stored several times over
        ("x" * 129, "tag-1"),
        # not a text
        (7, "tag-1"),
    ],
)
def test_an_entry_has_the_tasks_id_where_that_will_do(task_id: Any, expected: str) -> None:
    assert to_entry(message(id=task_id), priority_steps=STEPS).id == expected


@pytest.mark.parametrize(
    ("priority", "step"), [(0, 0), (2, 0), (3, 1), (9, 3), (99, 3), (-5, 0), ("6", 2), (None, 0), ("high", 0)]
)
def test_a_priority_becomes_a_step_as_kombu_has_it(priority: Any, step: int) -> None:
    given = message(id="t")
    given["properties"]["priority"] = priority

    assert to_entry(given, priority_steps=STEPS).step == step


def test_a_priority_before_the_first_step_is_in_the_last_as_with_kombus_own_transport() -> None:
    assert to_entry(message(id="t"), priority_steps=[1, 4, 7]).step == 2


def test_an_eta_of_years_is_kept_to_the_millisecond() -> None:
    eta = datetime(2026, 1, 1, 0, 0, 0, 500_001, tzinfo=UTC) + timedelta(days=36_525)

    entry = to_entry(message(id="t", eta=eta.isoformat()), priority_steps=STEPS)

    assert entry.due_ms == 4_922_985_600_501


@pytest.mark.parametrize("payload", [b"", b"\xff\x00", b"[]", b"7", b"{}", b'{"properties": 7}', b"[" * 100_000])
def test_a_payload_that_is_no_message_is_unreadable(payload: bytes) -> None:
    with pytest.raises(Unreadable):
        from_payload(payload, redelivered=True)


def test_a_message_that_was_delivered_before_is_marked_as_redelivered() -> None:
    payload = to_entry(message(id="t"), priority_steps=STEPS).payload

    again = from_payload(payload, redelivered=True)

    assert again["headers"]["redelivered"] is True
    assert again["properties"]["delivery_info"]["redelivered"] is True
    assert "redelivered" not in from_payload(payload)["headers"]


def test_a_retry_does_not_inherit_the_mark_of_the_delivery_before_it() -> None:
    entry = to_entry(message(id="t", redelivered=True), priority_steps=STEPS)

    assert "redelivered" not in from_payload(entry.payload)["headers"]


def test_a_mark_that_another_transport_set_stays() -> None:
    moved = message(id="t", redelivered=True)
    moved["properties"]["delivery_info"] = {"redelivered": True}

    entry = to_entry(moved, priority_steps=STEPS)

    assert from_payload(entry.payload)["headers"]["redelivered"] is True


def test_a_publish_is_known_by_its_delivery_tag_unless_that_could_be_found_by_chance() -> None:
    made = message(id="t")
    made["properties"]["delivery_tag"] = "0c5f6ee0-9c2f-4d3e-8a2b-5b9f4f3f7a11"

    entry = to_entry(made, priority_steps=STEPS)

    assert entry.publish_token == made["properties"]["delivery_tag"]
    assert entry.publish_token.encode() in entry.payload
    assert to_entry(message(id="t"), priority_steps=STEPS).publish_token == ""
