"""Unique keys: of all messages of a queue that name the same one, only one is stored, or runs, at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from delayhub.engine.delay_queue import DelayQueue, flat_leases
from delayhub.engine.entry import Entry, Lease, text
from delayhub.engine.scripts import script
from delayhub.engine.spread_queue import SpreadQueue
from delayhub.errors import OptionError

#: The longest unique key, in bytes.
MAX_KEY_BYTES = 256


class Until(StrEnum):
    """Until when a message has its key."""

    END = "end"
    """Until it is done, dead or removed."""
    START = "start"
    """Until a consumer first claims it."""
    TIME = "time"
    """For a time that begins when it is stored, whatever becomes of it."""


class WhenTaken(StrEnum):
    """What becomes of a message whose key is taken."""

    REFUSE = "refuse"
    """It is not stored."""
    REPLACE = "replace"
    """It takes the place of the one that has the key. Where a consumer holds that one, it waits for the key; a newer
    one takes its place again."""
    WAIT = "wait"
    """It is stored, and waits until the key is free; any number do, one after the other."""
    CONTINUE = "continue"
    """A task that runs publishes itself once more: the message that it holds passes the key to this one. Else as
    ``wait``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueKey:
    """The unique key of a message.

    Args:
        key: up to 256 bytes of text, without NUL.
        until: until when the message has it.
        milliseconds: for how long, where that is a time.
        when_taken: what becomes of the message where the key is taken.
        is_canvas: others wait for this message, so it is never replaced.
        expires_ms: from then on the message would not run any more: it has its key only while a consumer holds it.
        continued: to ``continue``, the lease by which the publisher holds the message that has the key, as
            :attr:`Lease.mark` says it; by another one nothing is passed on.

    Raises:
        OptionError: a value cannot work.
    """

    key: str
    until: Until = Until.END
    milliseconds: int = 0
    when_taken: WhenTaken = WhenTaken.REFUSE
    is_canvas: bool = False
    expires_ms: int = 0
    continued: str = ""

    def __post_init__(self) -> None:
        # Half of a surrogate pair, which JSON can bring in, has no bytes in UTF-8.
        size = len(self.key.encode(errors="replace"))
        if not 0 < size <= MAX_KEY_BYTES or "\0" in self.key or any("\ud800" <= sign <= "\udfff" for sign in self.key):
            raise OptionError(
                f"a unique key has 1 to {MAX_KEY_BYTES} bytes of UTF-8, and no NUL, got {self.key[:200]!r}"
            )
        if (self.milliseconds > 0) != (self.until is Until.TIME):
            raise OptionError(f"a unique key for a time needs that time, got {self.milliseconds!r} ms")
        if self.until is Until.TIME and self.when_taken is WhenTaken.REPLACE:
            raise OptionError("a unique key that is taken for a time cannot replace: the first one may have run")

    def arguments(self) -> list[Any]:
        """The key as the scripts take it."""
        about = f"{self.until[0]}{'c' if self.is_canvas else '-'}:{max(0, self.expires_ms)}"
        lease = [self.continued] if self.when_taken is WhenTaken.CONTINUE else []
        return [self.key, about, self.milliseconds, self.when_taken.value, *lease]


class Offered(NamedTuple):
    """What became of a message with a unique key.

    ``outcome``: ``added``, ``follows`` (it waits for its key), ``replaced`` (it took another's place), ``refused``, or
    ``repeated``: an earlier try had stored it. ``id``: the message's, or, where it was refused, that of the message
    that has the key. ``replaced_id`` and ``replaced_payload``: the message that is gone.
    """

    outcome: str
    id: str
    replaced_id: str = ""
    replaced_payload: bytes = b""


def offer(queue: DelayQueue, entry: Entry, unique: UniqueKey) -> Offered:
    """Stores a message with a unique key, or not, in one step; what became of it.

    Where the queue has slots, the message is in that of its key.
    """
    if isinstance(queue, SpreadQueue):
        queue = queue.parts[queue.slots.slot(unique.key, None)]
    args = [entry.id, entry.due_ms, entry.step, entry.payload, entry.publish_token, *unique.arguments()]
    return parse_offered(script("schedule_unique").run(queue.client, _keys(queue), args))


def parse_offered(reply: Sequence[Any]) -> Offered:
    """A reply of the scripts as a value."""
    outcome, entry_id, *replaced = reply
    return Offered(text(outcome), text(entry_id), *([text(replaced[0]), replaced[1]] if replaced else []))


def start(queue: DelayQueue, leases: Sequence[Lease]) -> int:
    """How many of these held messages have a key until their end, or a place among those of a task that run at once.

    From now on none of those is given out again. They keep key, place and lease until they are acknowledged. Where the
    lease runs out before that, they are gone.
    """
    return sum(script("start").run(queue.client, [queue.keys.base], flat) for flat in flat_leases(leases))


def free_key(queue: DelayQueue, key: str, *, holder: str = "") -> bool:
    """Whether a key was taken; it is free now, or the first's that waits for it. The message that had it stays.

    Where a holder is named, the key is freed only if it is still that message's. Each slot has keys of its own.
    """
    return bool(script("free_key").run(queue.client, [queue.keys.base], [key, holder]))


def _keys(queue: DelayQueue) -> list[str]:
    return [queue.keys.base, queue.lane_keys.base]
