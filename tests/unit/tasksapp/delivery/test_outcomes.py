"""What can become of a callback: values, and what follows from them."""

from __future__ import annotations

import pytest

from tasksapp.delivery.outcomes import CallbackOutcome, CallbackResult, Delivered, GiveUp, Response, Retry, Returned
from tests.callbacks import callback


@pytest.mark.parametrize(
    ("outcome", "status_code", "is_down"),
    [
        # no answer at all, or one that the server itself is sorry for
        (Retry("connection refused"), None, True),
        (Retry("status 503"), 503, True),
        # it answered, so it is up
        (Retry("status 429"), 429, False),
        (Delivered(), 204, False),
        (GiveUp("status 500"), 500, False),
        # it was not even asked
        (Returned("the process ends"), None, False),
    ],
)
def test_a_receiver_is_down_where_others_will_fail_the_same_way(
    outcome: CallbackOutcome, status_code: int | None, is_down: bool
) -> None:
    response = None if status_code is None else Response(status_code, {}, "")

    assert CallbackResult(callback(), outcome, response=response).receiver_is_down is is_down


def test_lateness_counts_from_when_the_attempt_should_have_begun() -> None:
    one = callback()

    assert CallbackResult(one, Delivered(), started_ms=one.run_at_ms + 250).lateness_ms == 250


def test_outcomes_are_equal_by_what_they_say() -> None:
    assert Retry("status 503", 5.0) == Retry("status 503", 5.0) != Retry("status 503", 6.0)
    assert Delivered() != Delivered(cancel_others=True)
