"""Entries of the engine as the tasks they are, for people who look at queues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from delayhub.engine import DelayQueue, Listed, Place
from delayhub.transport.envelope import Unreadable, from_payload

#: Entries that are listed in one call.
PAGE = 500


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """A task that waits, or is dead.

    ``at``: when it is due, or when it died. ``reason``: why it is dead.
    """

    id: str
    task: str
    at: datetime
    args: str
    kwargs: str
    strikes: int
    reason: str | None


def stretch(queue: DelayQueue, place: Place, offset: int, limit: int) -> Iterator[Listed]:
    """Up to ``limit`` entries of a queue from an offset on, with their payloads; asked for in pages."""
    for start in range(offset, offset + limit, PAGE):
        page = queue.list(place, offset=start, limit=min(PAGE, offset + limit - start), payloads=True)
        yield from page
        if len(page) < PAGE:
            return


def task_message(listed: Listed) -> TaskMessage:
    """A listed entry as the task it is; an unreadable one has ``(unreadable)`` for its name."""
    try:
        headers = from_payload(listed.payload or b"").get("headers") or {}
    except Unreadable:
        headers = {"task": "(unreadable)"}
    return TaskMessage(
        id=listed.id,
        task=str(headers.get("task") or ""),
        at=datetime.fromtimestamp(listed.at_ms / 1000, UTC),
        args=str(headers.get("argsrepr") or ""),
        kwargs=str(headers.get("kwargsrepr") or ""),
        strikes=listed.strikes,
        reason=listed.reason,
    )
