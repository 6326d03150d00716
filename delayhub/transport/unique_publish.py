"""Messages with a unique key: a header says which; the context of a publish, what becomes of one whose key is taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from kombu.log import get_logger

from delayhub.engine import due_ms
from delayhub.engine.unique import Offered, UniqueKey, Until, WhenTaken
from delayhub.errors import OptionError
from delayhub.transport.envelope import moment_of

logger = get_logger(__name__)

#: The header with the unique key of a message: ``{"key": …, "until": …, "ms": …}``.
UNIQUE_HEADER = "x-delayhub-unique"
#: The property of a delivered message that has a unique key: the lease by which this worker holds it.
LEASE_PROPERTY = "x-delayhub-lease"


@dataclass(slots=True, kw_only=True)
class UniquePublish:
    """A publish of one message, which may go to several queues, each with its own keys.

    Args:
        when_taken: what becomes of it where its key is taken.
        is_canvas: others wait for it.
        continued: where a task publishes itself once more, the lease of its message, as :attr:`Lease.mark` says it.
        offered: what became of it, queue by queue.
    """

    when_taken: WhenTaken
    is_canvas: bool
    continued: str = ""
    offered: list[Offered] = field(default_factory=list)

    @property
    def kept_id(self) -> str | None:
        """The id of the message that has the key, where no queue took this one."""
        refused = [found for found in self.offered if found.outcome == "refused"]
        return refused[0].id if refused and len(refused) == len(self.offered) else None


_current: ContextVar[UniquePublish | None] = ContextVar("delayhub_unique", default=None)


@contextmanager
def publishing_unique(publish: UniquePublish) -> Iterator[None]:
    """While it lasts, messages with the header are published that way; others with it wait for their key."""
    token = _current.set(publish)
    try:
        yield
    finally:
        _current.reset(token)


def unique_of(message: Mapping[str, Any]) -> UniqueKey | None:
    """The unique key of a message, as it is published now; None where it has none that can be read."""
    headers = message.get("headers") or {}
    said = headers.get(UNIQUE_HEADER)
    if said is None:
        return None
    publish = _current.get()
    try:
        return UniqueKey(
            key=said["key"],
            until=Until(said["until"]),
            milliseconds=int(said.get("ms") or 0),
            when_taken=publish.when_taken if publish is not None else WhenTaken.WAIT,
            is_canvas=publish is None or publish.is_canvas,
            expires_ms=due_ms(moment_of(headers["expires"])) if headers.get("expires") else 0,
            continued=publish.continued if publish is not None else "",
        )
    except (OptionError, ValueError, TypeError, KeyError, AttributeError) as error:
        logger.warning("a message is stored without its unique key %r: %s", said, error)
        return None


def note_offered(offered: Offered) -> None:
    """Notes what became of a message, for the program that publishes it."""
    publish = _current.get()
    if publish is not None:
        publish.offered.append(offered)


def keeps_key_until_end(headers: Mapping[str, Any]) -> bool:
    """Whether a message with these headers has a unique key until its task has ended."""
    said = headers.get(UNIQUE_HEADER)
    return isinstance(said, dict) and said.get("until") == Until.END
