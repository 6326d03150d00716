"""What keeps a worker from running a message, in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kombu import Message

from delayhub.celery_support.message_fault import fault_of
from delayhub.transport.envelope import DUE_HEADER

CALL = [[1], {"by": 2}, {"chain": None}]


def message(
    body: Any = CALL, *, content: str = "application/json", headers: dict[str, Any] | None = None, **more: Any
) -> Message:
    """A message as kombu hands it over."""
    said = {"task": "t", "id": "1", "timelimit": [None, None]} if headers is None else headers
    return Message(
        body=body if isinstance(body, str) else json.dumps(body),
        content_type=content,
        content_encoding="utf-8",
        headers=said | more,
        accept={"application/json"},
    )


@pytest.mark.parametrize(
    "sound",
    [
        message(),
        message([[], {}, None]),
        message([[], {}, {"callbacks": [{"task": "t"}], "errbacks": ["name"], "chain": [], "chord": {"task": "t"}}]),
        message([[], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None, "own": 5}]),
        message({"args": [1], "kwargs": {}}),  # of a sender between the protocols
        message({"task": "t", "id": "1", "args": [1]}, headers={}),  # of protocol 1
        message(eta="2026-11-23T10:00:00+00:00", expires="2026-11-23T10:00:00", timelimit=[1.5, 2]),
        message(shadow="other", stamped_headers=["a"], stamps={"a": 1}, **{DUE_HEADER: 1_700_000_000_000}),
        message(retries="x", group=[], argsrepr={}, own={"of": "the project"}),
    ],
)
def test_what_celery_can_run_has_no_fault(sound: Message) -> None:
    assert fault_of(sound) is None


@pytest.mark.parametrize(
    ("spoilt", "fault"),
    [
        (message(id={"a": 1}), "its id is not a name: {'a': 1}"),
        (message(id=None), "its id is not a name: None"),
        (message(id="\ud800"), "its id is not a name"),
        (message(task=["t"]), "its task is not a name: ['t']"),
        (message(headers={"id": "1"}), "it names no task"),
        (message(timelimit="abc"), "its timelimit is not two numbers of seconds: 'abc'"),
        (message(timelimit=[None, -1]), "its timelimit is not two numbers of seconds"),
        (message(timelimit=[float("nan"), 1]), "its timelimit is not two numbers of seconds"),
        (message(eta=0), "its eta is not a date and time: 0"),
        (message(expires="tomorrow"), "its expires is not a date and time: 'tomorrow'"),
        (message(expires="0001-01-01T00:00:00+23:59"), "its expires is not a date and time"),
        (message(shadow=[]), "its shadow is not a text"),
        (message(stamped_headers=[{}]), "its stamped_headers is not a list of names"),
        (message(stamps=[1]), "its stamps is not an object"),
        (message(**{DUE_HEADER: 2**60}), f"its {DUE_HEADER} is not a time in milliseconds"),
        (message([]), "its body is not a list of arguments, keyword arguments and options"),
        (message("null"), "its body is not a list of arguments"),
        (message({}), "its body is not a list of arguments"),
        (message([5, {}, {}]), "its arguments are not a list: 5"),
        (message([[], 5, {}]), "its keyword arguments are not named by texts: 5"),
        (message([[], {}, 5]), "its options are not an object: 5"),
        (message([[], {}, {"callbacks": 5}]), "its callbacks is not a list of calls: 5"),
        (message([[], {}, {"errbacks": "x"}]), "its errbacks is not a list of calls: 'x'"),
        (message([[], {}, {"chain": {"a": 1}}]), "its chain is not a list of calls: {'a': 1}"),
        (message([[], {}, {"chain": [1]}]), "its chain is not a list of calls: [1]"),
        (message([[], {}, {"chord": 9}]), "its chord is not a call: 9"),
        (message({"args": [], "callbacks": 5}), "its callbacks is not a list of calls: 5"),
        (message("{"), "its body cannot be read: DecodeError: "),
        (message("[" * 100_000), "its body cannot be read: "),
        (message(content="application/x-python-serialize"), "its body cannot be read: ContentDisallowed: "),
    ],
)
def test_what_would_end_a_worker_is_named(spoilt: Message, fault: str) -> None:
    found = fault_of(spoilt)

    assert found is not None
    assert found.startswith(fault)


def test_a_large_value_is_shortened_in_the_reason() -> None:
    assert len(fault_of(message(id=["x" * 10_000] * 100)) or "") < 1000
