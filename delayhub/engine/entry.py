"""Values: what the engine keeps, and what its verbs give back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from delayhub.engine.keys import MAX_STEPS
from delayhub.errors import EntryError

#: The longest id, in bytes: ids are stored several times over.
MAX_ID_BYTES = 512
#: The longest flow key, and what would end its part of a Redis key early.
MAX_FLOW_KEY_BYTES = 100
NOT_IN_FLOW_KEYS = ":{}\0"
#: Scores are doubles: due ms · 16 + step must stay exact.
MAX_DUE_MS = 2**53 // 16 - 1


class Mode(StrEnum):
    """What ``schedule`` does about an id that is taken."""

    NEW = "new"
    """Store one more entry, as ``id#n``; where the publish token is the same, keep the old one."""
    REPLACE = "replace"
    """The new entry takes the old one's place."""
    IF_ABSENT = "if_absent"
    """Keep the old entry."""


class Place(StrEnum):
    """Where an entry can be."""

    WAITING = "waiting"
    READY = "ready"
    PARKED = "parked"
    LEASED = "leased"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Entry:
    """A message to keep until it is due.

    Args:
        id: up to 512 bytes of text.
        due_ms: Unix time in ms; now or earlier means at once.
        payload: the message's bytes.
        step: priority step, 0 (goes first) to 9.
        publish_token: what no other publish has in its payload. A publish whose reply is lost is sent again; with
            a token its entry is stored once all the same.

    Raises:
        EntryError: it cannot be stored as it is.
    """

    id: str
    due_ms: int = 0
    payload: bytes = b""
    step: int = 0
    publish_token: str | bytes = ""

    def __post_init__(self) -> None:
        check_timer(self.id, self.due_ms, self.step)


def check_flow_key(key: str) -> None:
    """Raises EntryError where a flow key cannot be part of a Redis key."""
    if not key:  # most have none
        return
    if len(key.encode()) > MAX_FLOW_KEY_BYTES or any(character in key for character in NOT_IN_FLOW_KEYS):
        raise EntryError(
            f"a flow key may have {MAX_FLOW_KEY_BYTES} bytes, and no colon, brace or NUL, got {key[:200]!r}"
        )


def check_timer(entry_id: str, due_ms: int, step: int) -> None:
    """Raises EntryError where an id, a due time or a priority step cannot be stored."""
    if not entry_id:
        raise EntryError("an entry needs an id, got ''")
    if len(entry_id) > MAX_ID_BYTES // 4 and len(entry_id.encode()) > MAX_ID_BYTES:
        raise EntryError(f"an id may have {MAX_ID_BYTES} bytes, got {len(entry_id.encode())}")
    if due_ms > MAX_DUE_MS:
        raise EntryError(f"due_ms may be {MAX_DUE_MS} at most, got {due_ms}")
    if not 0 <= step < MAX_STEPS:
        raise EntryError(f"step may be 0 to {MAX_STEPS - 1}, got {step}")


def check_timers(timers: Sequence[tuple[str, int]], step: int) -> None:
    """Raises EntryError where one of them, each an id and a due time, cannot be stored with that priority step."""
    if not timers:
        return
    ids, times = zip(*timers, strict=True)
    # All at once; each is asked for only where one might not pass.
    if not all(ids) or max(map(len, ids)) > MAX_ID_BYTES // 4 or max(times) > MAX_DUE_MS or not 0 <= step < MAX_STEPS:
        for timer_id, due_ms in timers:
            check_timer(timer_id, due_ms, step)


class Scheduled(NamedTuple):
    """What became of a scheduled entry, and the id it got.

    ``added``, ``replaced``, ``exists``, ``copied`` (stored as ``id#n``), or ``repeated``: this publish had stored it.
    """

    outcome: str
    id: str


def parse_scheduled(entry_id: str, answer: int | bytes | str) -> Scheduled:
    """One answer of the ``schedule`` script as a value."""
    if isinstance(answer, int):
        return Scheduled(("exists", "added", "replaced", "repeated")[answer], entry_id)
    return Scheduled("copied", text(answer))


class Lease(NamedTuple):
    """Temporary ownership of an entry. ``token`` is the fence: only the latest owner's is accepted."""

    lane: str
    queue: str
    id: str
    token: int

    @property
    def mark(self) -> str:
        """What no other lease of the lane has: all leases of one claim share a token."""
        return f"{self.token}:{self.id}"


class Claimed(NamedTuple):
    """One claimed message.

    ``token`` is 0 where it needs no acknowledgement. ``redelivered``: a lease on it ran out before, or it was released
    after its delivery. ``limited``: its task has a limit, so it should start at once. ``counted``: until
    its lease ends, it counts among those of its task, or flow key, that may run at once.
    """

    id: str
    payload: bytes
    strikes: int
    token: int
    revoked: bool
    redelivered: bool = False
    limited: bool = False
    counted: bool = False


class Counts(NamedTuple):
    """How many entries of a queue are where. Parked: due, and held back by the limit of its task."""

    waiting: int
    ready: int
    leased: int
    dead: int
    parked: int = 0


class Reaped(NamedTuple):
    """Leases that ran out: how many entries went back, how many died."""

    returned: int
    died: int


class Listed(NamedTuple):
    """One entry as a person sees it.

    ``at_ms``: the due time where waiting, ready or parked (when it became ready, for immediate ones), the lease's end
    where leased, the time of death where dead. ``redelivered``: as in :class:`Claimed`.
    """

    id: str
    at_ms: int
    step: int
    strikes: int
    reason: str | None
    payload: bytes | None
    redelivered: bool = False


def text(raw: bytes | str) -> str:
    """A reply's string, whether or not the client decodes replies."""
    return raw if isinstance(raw, str) else raw.decode()


def texts(raw: Sequence[bytes | str]) -> list[str]:
    """A reply's strings, whether or not the client decodes replies."""
    return [each if isinstance(each, str) else each.decode() for each in raw]
