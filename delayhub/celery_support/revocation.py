"""Revokes tasks that wait in Redis, by their ids or by their stamps; no worker is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

from delayhub.celery_support.task_results import announce_revoked
from delayhub.engine import DelayQueue
from delayhub.transport.channel import Channel
from delayhub.transport.envelope import Unreadable, from_payload

if TYPE_CHECKING:
    from celery import Celery

#: How long a revoked id stays revoked for messages published later (a retry under way): as long as in Celery's workers.
TOMBSTONE = timedelta(hours=3)
#: How long one stays revoked that an old worker knew of: a move takes hours, and messages come over until its end.
MOVING_TOMBSTONE = timedelta(days=1)

#: Ids that one call removes, and payloads that one call reads.
PAGE = 500


def revoke_waiting(
    app: Celery, channel: Channel, queues: Sequence[str], ids: Sequence[str], *, stay: timedelta = TOMBSTONE
) -> int:
    """Return how many messages were removed; what waited for their results (chords, errbacks) goes on.

    The ids stay revoked for that long, also for messages that are published later.
    """
    return sum(
        _revoke_in(app, channel, channel.queue(name), ids[start : start + PAGE], stay=stay)
        for name in queues
        for start in range(0, len(ids), PAGE)
    )


class RevokeMoved:
    """Removes messages that come over although their ids are revoked: their time may be later than that of the revoke.

    Others that wait under such an id were sent again here, and stay.
    """

    def __init__(self, app: Celery, channel: Channel) -> None:
        self._app, self._channel = app, channel
        self._revoked: dict[str, frozenset[str]] = {}

    def __call__(self, name: str, ids: Sequence[str]) -> None:
        """Remove those of a queue's ids that were revoked when the first of its messages came over."""
        if name not in self._revoked:
            self._revoked[name] = frozenset(self._channel.queue(name).revoked())
        found = sorted(self._revoked[name].intersection(ids))
        revoke_waiting(self._app, self._channel, [name], found, stay=timedelta(0))


def stamped_ids(queue: DelayQueue, wanted: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """The ids of a queue's tasks that have one of the stamps; it reads every message of the queue."""
    scans = (part.client.hscan_iter(part.keys.payload, count=PAGE) for part in queue.parts)
    for _, payload in chain.from_iterable(scans):
        try:
            headers = from_payload(payload)["headers"]
            if has_stamp(headers.get("stamps") or {}, wanted):
                yield headers["id"]
        except (Unreadable, KeyError, AttributeError):
            continue  # it has no stamps that a worker could read


def has_stamp(stamps: Mapping[str, Any], wanted: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a task's stamps have one of the values that are wanted under a name."""
    return any(value in wanted[name] for name in wanted.keys() & stamps.keys() for value in listed(stamps[name]))


def wanted_stamps(headers: Mapping[str, Any] | Sequence[str]) -> dict[str, list[Any]]:
    """Stamps as the caller gave them: a mapping, or ``name=value`` texts from a command line."""
    if isinstance(headers, Mapping):
        return {name: listed(value) for name, value in headers.items()}
    found: dict[str, list[Any]] = {}
    for stamp in headers:
        name, _, value = stamp.partition("=")
        found.setdefault(name, []).append(value)
    return found


def listed(value: Any) -> list[Any]:
    """One value or several, as a list."""
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]


def _revoke_in(app: Celery, channel: Channel, queue: DelayQueue, ids: Sequence[str], *, stay: timedelta) -> int:
    payloads = queue.payloads(ids)
    removed = queue.cancel(ids, tombstone_ms=int(stay.total_seconds() * 1000))
    for task_id, count in zip(ids, removed, strict=True):
        for payload in payloads[task_id] if count else ():
            announce_revoked(app, channel, task_id, payload)
    return sum(removed)
