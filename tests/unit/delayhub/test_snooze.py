"""The exception by which tasks and pullers say that a job comes too early."""

from __future__ import annotations

import pickle

from delayhub import Snooze


def test_a_snooze_can_be_pickled_with_its_wait_and_its_reason() -> None:
    again = pickle.loads(pickle.dumps(Snooze(60, reason="not settled")))

    assert (type(again), again.seconds, str(again)) == (Snooze, 60, "not settled")


def test_a_snooze_without_a_reason_says_that_it_is_too_early() -> None:
    assert str(Snooze(60)) == "not yet"
