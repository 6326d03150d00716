"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(fact: Callable[[], bool], *, within_seconds: float, otherwise: Callable[[], str]) -> None:
    """Returns as soon as the fact is true; AssertionError with what ``otherwise`` says when the time is over."""
    deadline = time.monotonic() + within_seconds
    while not fact():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.1)
