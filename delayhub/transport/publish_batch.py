"""Publishing many messages at once: one script call for all entries of a queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

import redis

from delayhub.engine import Entry
from delayhub.transport.envelope import Message
from delayhub.transport.kombu_versions import PublishBatch


class Collected(NamedTuple):
    """A message on its way to a queue."""

    #: None where it goes to all workers that listen at that moment (a fanout exchange).
    queue: str | None
    message: Message


#: Where publishes of this context go in place of Redis; None for Redis.
_collecting: ContextVar[list[Collected] | None] = ContextVar("delayhub_collecting", default=None)


@contextmanager
def collect() -> Iterator[list[Collected]]:
    """A list of what is published within, of which nothing is stored: to see what a publish would store, and where."""
    found: list[Collected] = []
    before = _collecting.set(found)
    try:
        yield found
    finally:
        _collecting.reset(before)


def is_collected(queue: str | None, message: Message) -> bool:
    """Whether what this context publishes is collected; the message is then, too."""
    found = _collecting.get()
    if found is None:
        return False
    found.append(Collected(queue, message))
    return True


class StoringChannel(Protocol):
    """What a batch needs of its channel, beside what kombu's own batch does with it."""

    def store(self, queue: str, entries: Sequence[Entry]) -> None:
        """Stores new messages of a queue."""


class EntryBatch(PublishBatch):
    """kombu's batch, whose buffer keeps entries by queue beside the commands (of fanout) that kombu buffers."""

    def __init__(self, channel: StoringChannel, max_size: int) -> None:
        super().__init__(channel, max_size)
        self.pipeline: _Entries = _Entries(channel, self.pipeline)

    def add_entry(self, queue: str, entry: Entry) -> None:
        """One more entry for a queue."""
        self.add("entry", queue, entry)


class _Entries:
    """What kombu's batch takes for a Redis pipeline."""

    def __init__(self, channel: StoringChannel, pipeline: Any) -> None:
        self.channel = channel
        self.pipeline = pipeline
        self.entries: dict[str, list[Entry]] = defaultdict(list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pipeline, name)

    def entry(self, queue: str, entry: Entry) -> None:
        self.entries[queue].append(entry)

    def execute(self) -> None:
        for queue, entries in self.entries.items():
            try:
                self.channel.store(queue, entries)
            except (redis.ConnectionError, redis.TimeoutError):
                # What the first try has stored, although its reply was lost, is not stored again.
                self.channel.store(queue, entries)
        self.entries.clear()
        self.pipeline.execute()

    def reset(self) -> None:
        self.entries.clear()
        self.pipeline.reset()
