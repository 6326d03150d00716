"""Waiting, with a deadline, for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

#: How long a test waits unless it says otherwise: long enough for a machine that is busy with other tests.
USUAL_SECONDS = 120.0
#: Looks take an eleventh of the time at most: one that asks a server takes a core from what is waited for.
PAUSES_FOR_EACH_LOOK = 10
LONGEST_PAUSE_SECONDS = 1.0


def wait_until(
    fact: Callable[[], object],
    *,
    otherwise: str | Callable[[], object] = "nothing came of it",
    within_seconds: float = USUAL_SECONDS,
    look_seconds: float = 0.02,
) -> None:
    """Returns as soon as the fact is true.

    Args:
        fact: what is looked at, again and again.
        otherwise: what is missing, or what makes a sentence about it when the time is over.
        within_seconds: how long to wait.
        look_seconds: the pause between two looks, at least.

    Raises:
        TimeoutError: the time is over; the message has what ``otherwise`` says.
    """
    began = time.monotonic()
    deadline = began + within_seconds
    while not fact():
        now = time.monotonic()
        if now > deadline:
            missing = otherwise if isinstance(otherwise, str) else otherwise()
            raise TimeoutError(f"not within {within_seconds:g} s: {missing}")
        time.sleep(max(look_seconds, min(PAUSES_FOR_EACH_LOOK * (now - began), LONGEST_PAUSE_SECONDS)))
        began = time.monotonic()
