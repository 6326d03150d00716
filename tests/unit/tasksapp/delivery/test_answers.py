"""What a receiver's answer means: its status code, and the headers by which it steers."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest

from tasksapp.delivery.answers import ACTION, NEXT_IN, judge, retry_after_seconds
from tasksapp.delivery.callback import Target
from tasksapp.delivery.outcomes import CallbackOutcome, Delivered, GiveUp, Retry, Snooze

NOW_MS = 1_767_225_600_000


def judged(status_code: int, headers: dict[str, str] | None = None, **target: Any) -> CallbackOutcome:
    fields = {"biz_type": "close", "url": "http://receiver.example/", "host": "receiver.example", **target}
    return judge(Target(**fields), status_code, headers or {}, now_ms=NOW_MS)


@pytest.mark.parametrize("code", [200, 201, 204, 299])
def test_a_2xx_is_a_delivery(code: int) -> None:
    assert judged(code) == Delivered()


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (400, Retry("status 400", kind="http.400")),
        (429, Retry("status 429", kind="http.429")),
        (500, Retry("status 500", kind="http.500")),
        (301, Retry("status 301: redirects are not followed", kind="http.301")),
        # gone for good, as HTTP has it
        (410, GiveUp("status 410")),
    ],
)
def test_other_codes_are_tried_again_unless_they_say_gone(code: int, outcome: CallbackOutcome) -> None:
    assert judged(code) == outcome


def test_a_biz_type_may_name_codes_that_are_final() -> None:
    assert judged(404, permanent_codes=frozenset({404})) == GiveUp("status 404")
    assert judged(503, permanent_codes=frozenset({404})) == Retry("status 503", kind="http.503")


@pytest.mark.parametrize("code", [200, 404, 500])
@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        ("done", Delivered()),
        ("cancel-others", Delivered(cancel_others=True)),
        ("fail", GiveUp("the receiver said: fail")),
        ("retry", Retry("the receiver said: retry", kind="asked")),
        ("snooze", Snooze("the receiver said: snooze")),
        (" Done ", Delivered()),
    ],
)
def test_the_action_header_counts_whatever_the_code(code: int, action: str, outcome: CallbackOutcome) -> None:
    assert judged(code, {ACTION: action}) == outcome


def test_an_action_that_means_nothing_is_passed_over() -> None:
    assert judged(204, {ACTION: "explode"}) == Delivered()


@pytest.mark.parametrize(
    ("headers", "after"),
    [
        ({NEXT_IN: "7"}, 7.0),
        ({"Retry-After": "7"}, 7.0),
        ({NEXT_IN: "0.5", "Retry-After": "7"}, 0.5),
        ({NEXT_IN: "soon", "Retry-After": "7"}, 7.0),
        ({}, None),
    ],
)
def test_a_receiver_may_say_when_to_come_back(headers: dict[str, str], after: float | None) -> None:
    assert judged(503, headers) == Retry("status 503", after, kind="http.503")
    assert judged(200, {**headers, ACTION: "retry"}) == Retry("the receiver said: retry", after, kind="asked")
    assert judged(200, {**headers, ACTION: "snooze"}) == Snooze("the receiver said: snooze", after)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        (formatdate(NOW_MS / 1000 + 90, usegmt=True), 90.0),
        # over already: at once
        (formatdate(NOW_MS / 1000 - 90, usegmt=True), 0.0),
        # nothing that makes sense
        ("", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("tomorrow", None),
        ("Wed, 99 Foo 2026 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_seconds(value, now_ms=NOW_MS) == seconds
