"""Compact messages: nothing of a message is lost, scripts find what they look for, later forms are known as such."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any
from uuid import uuid4

import pytest

from delayhub.engine.task_name import task_of
from delayhub.transport.compact import DICTIONARIES, LONGEST, TRAILER, unpacked
from delayhub.transport.envelope import Later, Unreadable, from_payload, to_entry

EMBED = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}


def message(*args: Any, task: str = "shop.close_order", **headers: Any) -> dict[str, Any]:
    """A message as Celery makes it."""
    task_id = str(uuid4())
    own = {
        "lang": "py",
        "task": task,
        "id": task_id,
        "shadow": None,
        "eta": None,
        "expires": None,
        "group": None,
        "group_index": None,
        "retries": 0,
        "timelimit": [None, None],
        "root_id": task_id,
        "parent_id": None,
        "argsrepr": repr(args),
        "kwargsrepr": "{}",
        "origin": "gen4711@web1",
        "ignore_result": True,
        "replaced_task_nesting": 0,
        "stamped_headers": None,
        "stamps": {},
    }
    properties = {
        "correlation_id": task_id,
        "reply_to": str(uuid4()),
        "delivery_mode": 2,
        "priority": 0,
        "delivery_info": {"exchange": "", "routing_key": "celery"},
        "body_encoding": "utf-8",
        "delivery_tag": str(uuid4()),
    }
    content = {"content-encoding": "utf-8", "content-type": "application/json"}
    return {"body": json.dumps([args, {}, EMBED]), **content, "headers": {**own, **headers}, "properties": properties}


def stored(given: dict[str, Any], *, is_compact: bool = True) -> Any:
    return to_entry(given, priority_steps=[0, 3, 6, 9], is_compact=is_compact)


@pytest.mark.parametrize(
    "given",
    [
        message("order-41"),
        # ids that are not ours, in the body and often
        message(*[str(uuid4()) for _ in range(20)]),
        # what stands for ids in the deflated text, and what looks like the end of a compact message
        message("\x01\x02\x03\x04", "\x1f\x01"),
        message("Zürich €", None, 1.5, [{"a": True}]),
        message(eta="2027-01-01T00:00:00+00:00", parent_id=str(uuid4()), group=str(uuid4())),
        # ids that would not be the same again
        message(parent_id=str(uuid4()).upper(), group=uuid4().hex),
        message(task='a "quoted" task'),
        message(task="ä\\"),
        message(stamps={"tenant": ["50"]}, stamped_headers=["tenant"]),
    ],
)
def test_a_compact_message_is_the_same_message_and_smaller(given: dict[str, Any]) -> None:
    compact, plain = stored(given), stored(given, is_compact=False)

    assert from_payload(compact.payload) == from_payload(plain.payload)
    assert len(compact.payload) < len(plain.payload)
    assert (compact.id, compact.due_ms, compact.step) == (plain.id, plain.due_ms, plain.step)


def test_a_message_of_one_argument_takes_less_than_a_fifth() -> None:
    given = message("order-41")

    assert len(stored(given).payload) < len(stored(given, is_compact=False).payload) / 5


def test_scripts_find_the_task_and_the_publish_in_it() -> None:
    given = message("order-41", task="shop.close")

    entry = stored(given)

    assert task_of(entry.payload) == "shop.close"
    assert entry.publish_token in entry.payload
    assert len(entry.publish_token) == 16
    given["properties"]["delivery_tag"] = str(uuid4())
    assert stored(given).publish_token not in entry.payload


@pytest.mark.parametrize(
    "given",
    [
        message("x" * LONGEST),
        # replies of remote control and events call no task
        {**message(), "headers": {"clock": 1, "ticket": str(uuid4())}},
        # a tag of another transport: a publish that is sent again would not be known by it
        {**message(), "properties": {"delivery_tag": "tag-1"}},
    ],
)
def test_other_messages_stay_as_they_are(given: dict[str, Any]) -> None:
    assert stored(given) == stored(given, is_compact=False)


def test_by_default_messages_are_what_releases_before_read() -> None:
    entry = to_entry(message("order-41"), priority_steps=[0])

    assert json.loads(entry.payload)["headers"]["task"] == "shop.close_order"


@pytest.mark.parametrize(("at", "byte"), [(-1, b"\x02"), (-3, b"\x63")])
def test_a_form_or_a_dictionary_of_a_later_release_is_known_as_such(at: int, byte: bytes) -> None:
    payload = stored(message("order-41")).payload
    payload = payload[:at] + byte + payload[len(payload) + at + 1 :]

    with pytest.raises(Later, match="later release"):
        from_payload(payload)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_damaged_one_is_unreadable(cut: int) -> None:
    payload = stored(message("order-41")).payload
    middle = len(payload) - TRAILER.size

    with pytest.raises(Unreadable) as refused:
        from_payload(payload[: middle - cut] + payload[middle:])

    assert not isinstance(refused.value, Later)


def test_one_that_would_inflate_without_end_is_refused() -> None:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -13, 5, zlib.Z_DEFAULT_STRATEGY, DICTIONARIES[1])
    bomb = deflate.compress(b" " * 50_000_000) + deflate.flush()

    with pytest.raises(Unreadable):
        from_payload(b"{}" + bomb + TRAILER.pack(2, 0, 1, 0x1F, 1))


@pytest.mark.parametrize("payload", [b"", b"{}", b"\xff\x00", b'{"headers":{}}\n'])
def test_what_is_not_compact_stays_as_it_is(payload: bytes) -> None:
    assert unpacked(payload) == payload


def test_dictionaries_never_change() -> None:
    # Messages that wait for months were made with them. Add another one in place of changing one.
    digests = {number: hashlib.sha256(text).hexdigest()[:16] for number, text in DICTIONARIES.items()}

    assert digests == {1: "3cce3aa9eb17c4e3"}
