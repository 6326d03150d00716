"""QueuedTask: a message of a queue as the task it is, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from delayhub.clock import moment
from delayhub.engine import DelayQueue, Listed, Place
from delayhub.transport.envelope import Unreadable, from_payload

#: Entries that are listed in one call.
PAGE = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedTask:
    """A message, where it is, and what it says of its task.

    Args:
        id: the message's id in its queue.
        task_id: Celery's id of the task, '' for a message that is none.
        place: where it is.
        at: the due time; where leased, when the lease ends; where dead, the time of death.
        task: the task's name, '' where the message cannot be read.
        args: its positional arguments as Celery wrote them for people, shortened by Celery.
        kwargs: its keyword arguments, likewise.
        step: its priority, 0 (goes first) to 9.
        strikes: how many leases on it ran out.
        redelivered: whether a worker had it before.
        retries: how often the task has asked for another try.
        origin: the process that sent it.
        expires: when it expires, as the sender wrote it.
        reason: why it is dead.
        size: of the message in bytes.
    """

    id: str
    task_id: str
    place: Place
    at: datetime
    task: str
    args: str
    kwargs: str
    step: int
    strikes: int
    redelivered: bool
    retries: int
    origin: str
    expires: str
    reason: str
    size: int

    @classmethod
    def of(cls, listed: Listed, place: Place) -> Self:
        """A listed entry as the task it is; it must have been listed with its payload."""
        payload = listed.payload or b""
        headers = _headers(payload)
        retries = headers.get("retries")
        return cls(
            id=listed.id,
            task_id=_said(headers, "id"),
            place=place,
            at=moment(listed.at_ms),
            task=_said(headers, "task"),
            args=_said(headers, "argsrepr"),
            kwargs=_said(headers, "kwargsrepr"),
            step=listed.step,
            strikes=listed.strikes,
            redelivered=listed.redelivered,
            retries=retries if isinstance(retries, int) else 0,
            origin=_said(headers, "origin"),
            expires=_said(headers, "expires"),
            reason=listed.reason or "",
            size=len(payload),
        )

    def holds(self, needle: str, *, with_arguments: bool) -> bool:
        """Whether its id, its task or, if wanted, its arguments hold a text, which is casefolded already."""
        words = [self.id, self.task, *([self.args, self.kwargs] if with_arguments else [])]
        return any(needle in word.casefold() for word in words)


def stretch(queue: DelayQueue, place: Place, offset: int, limit: int) -> Iterator[QueuedTask]:
    """Up to ``limit`` tasks of a place from an offset on; asked for in pages."""
    for start in range(offset, offset + limit, PAGE):
        page = queue.list(place, offset=start, limit=min(PAGE, offset + limit - start), payloads=True)
        yield from (QueuedTask.of(listed, place) for listed in page)
        if len(page) < PAGE:
            return


def messages_of(queue: DelayQueue, task_id: str) -> list[QueuedTask]:
    """The messages of a task id in that queue, wherever they are, copies too."""
    return [QueuedTask.of(one, place) for place, found in queue.look(task_id).items() for one in found]


def _headers(payload: bytes) -> Mapping[str, Any]:
    try:
        headers = from_payload(payload).get("headers")
    except Unreadable:
        return {}
    return headers if isinstance(headers, dict) else {}


def _said(headers: Mapping[str, Any], name: str) -> str:
    value = headers.get(name)
    return "" if value is None else str(value)
