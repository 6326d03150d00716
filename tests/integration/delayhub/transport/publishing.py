"""Publishing task messages, as a producer does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kombu import Producer


def publish(connection: Any, body: Any = None, *, queue: str = "q", **headers: Any) -> None:
    """Publishes a message to a queue."""
    with connection.channel() as channel:
        Producer(channel).publish(body, routing_key=queue, headers={"task": "t", **headers})


def eta(seconds: float) -> str:
    """The time so many seconds from now, as a producer writes it."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()  # noqa: TID251  an eta is made by a client's clock
