"""Messages of periodic entries: the first one that is stored takes its entry to the next occurrence, in one script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from kombu.log import get_logger

from delayhub.clock import moment
from delayhub.engine import DelayQueue, Entry
from delayhub.engine.occurrences import Occurrence, OccurrenceBook
from delayhub.engine.scripts import Executor
from delayhub.engine.spread_queue import SpreadQueue
from delayhub.engine.unique import Offered, UniqueKey
from delayhub.errors import NotReplicated, OccurrenceTaken
from delayhub.transport.unique_publish import note_offered

logger = get_logger(__name__)

#: The header with the nominal time of an occurrence, ISO 8601 in UTC.
OCCURRENCE_HEADER = "x-delayhub-occurrence"

_current: ContextVar[Occurrence | None] = ContextVar("delayhub_occurrence", default=None)


@contextmanager
def publishing(occurrence: Occurrence) -> Iterator[None]:
    """While it lasts, messages with the header of this occurrence move its entry on."""
    token = _current.set(occurrence)
    try:
        yield
    finally:
        _current.reset(token)


def nominal_time(occurrence: Occurrence) -> str:
    """The value of the header."""
    return moment(occurrence.nominal_ms).isoformat()


def occurrence_of(message: Mapping[str, Any]) -> Occurrence | None:
    """The occurrence whose message this is, as long as its entry has not moved on.

    What is published beside it meanwhile (events, what receivers of signals publish) has no such header.
    """
    found = _current.get()
    if found is None or found.is_over:
        return None
    headers = message.get("headers") or {}
    return found if headers.get(OCCURRENCE_HEADER) == nominal_time(found) else None


def put(
    occurrence: Occurrence,
    entry: Entry,
    *,
    queue: DelayQueue,
    client: Executor,
    key_prefix: str,
    unique: UniqueKey | None = None,
) -> bool:
    """Moves the entry on; whether that stored the message too, which it does in the queue that keeps its state.

    A message whose unique key is taken is not stored there either: the occurrence is left out.

    A message for several queues, for one that is not known before, or for another of the queue's slots, where its limit
    or its unique key counts, is stored after that: a beat that is killed in between leaves it out, and no beat
    publishes it twice.

    Raises:
        OccurrenceTaken: another beat may have published it.
        NotReplicated: it is stored, but too few replicas have it.
    """
    is_beside = queue.name == occurrence.lane
    if is_beside and isinstance(queue, SpreadQueue):
        is_beside = queue.takes_in_first(entry, unique_key=unique.key if unique is not None else None)
    if not is_beside:
        move_on(occurrence, client=client, key_prefix=key_prefix)
        return False
    book = OccurrenceBook(client, occurrence.lane, key_prefix=key_prefix)
    try:
        stored = book.put(occurrence, entry, unique=unique)
    except NotReplicated:
        occurrence.is_over = True
        raise
    if stored is None:
        raise OccurrenceTaken(occurrence.name)
    if isinstance(stored, Offered):
        note_offered(stored)
    occurrence.is_over = True
    return True


def move_on(occurrence: Occurrence, *, client: Executor, key_prefix: str) -> None:
    """Moves the entry on before its message is sent.

    Raises:
        OccurrenceTaken: another beat may have published it.
    """
    try:
        is_ours = OccurrenceBook(client, occurrence.lane, key_prefix=key_prefix).settle(occurrence)
    except NotReplicated as error:
        # It has moved, so the message is to be stored: without that no beat would ever publish it.
        logger.warning("%s has moved on: %s", occurrence.name, error, extra={"action": "publish"})
        is_ours = True
    if not is_ours:
        raise OccurrenceTaken(occurrence.name)
    occurrence.is_over = True
