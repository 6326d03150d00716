"""Consuming from a broker through kombu, as a process without an event loop does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def drain(connection: Any, *, until: Callable[[], bool], within_seconds: float = 60.0) -> None:
    """Lets the connection's consumers have what comes, until the condition holds.

    Raises:
        AssertionError: it does not hold in time.
    """
    deadline = time.monotonic() + within_seconds
    while not until():
        assert time.monotonic() < deadline, f"nothing came within {within_seconds:g} s"
        try:
            connection.drain_events(timeout=0.2)
        except TimeoutError:
            continue


def take_all(connection: Any, queue: str) -> list[Any]:
    """The messages of a queue that are due now, acknowledged."""
    taken = []
    with connection.channel() as channel:
        while message := channel.basic_get(queue):
            taken.append(message)
            message.ack()
    return taken


def keep_payloads(kept: list[Any]) -> Callable[[Any], None]:
    """What a consumer does with each message: its payload goes to the list, and it is acknowledged."""

    def on_message(message: Any) -> None:
        kept.append(message.payload)
        message.ack()

    return on_message
