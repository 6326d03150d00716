"""What has become of each message by the word of the scripts' answers, and what that allows next."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from enum import StrEnum

from delayhub.engine.unique import UniqueKey, Until


class State(StrEnum):
    """What is known of a message."""

    LIVE = "live"
    """It is stored, and has to be run."""
    DONE = "done"
    """A consumer has ended it."""
    CANCELLED = "cancelled"
    REPLACED = "replaced"
    """A newer message of its unique key took its place."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease that a claim's answer has given, whether or not the answer arrived."""

    consumer: int
    token: int
    until_ms: int


@dataclass(slots=True)
class Message:
    """One message.

    ``not_before_ms``: no claim gives it before. ``ready_ms``: since when it stands in line. ``grant``: the lease that
    Redis gave last and has not ended, as far as answers tell; it may have run out. ``tokens``: of all its leases since
    it was last revived. ``is_settled``: it is done, and never given again, but a lease keeps its key or place; None
    where that cannot be known. ``has_passed_key``: to a retry of itself, until it is given again.
    """

    name: str
    task: str
    flow_key: str
    step: int
    not_before_ms: int
    ready_ms: int
    unique: UniqueKey | None = None
    state: State = State.LIVE
    grant: Grant | None = None
    tokens: set[int] = field(default_factory=set)
    is_settled: bool | None = False
    has_lost_key: bool = False
    has_passed_key: bool = False
    is_revived: bool = False
    old_tokens: set[int] = field(default_factory=set)

    @property
    def may_be_settled(self) -> bool:
        """Whether it is done and kept, as far as can be known."""
        return self.is_settled is not False

    @property
    def base(self) -> str:
        """The id by which it was published: that of its copies too."""
        return self.name.partition("#")[0]

    @property
    def keeps_key(self) -> str | None:
        """The unique key that no other message may run beside it with."""
        if self.unique is None or self.unique.until is not Until.END or self.has_lost_key or self.has_passed_key:
            return None
        return self.unique.key

    def is_held(self, now_ms: int) -> bool:
        """Whether a lease of it has not run out."""
        return self.grant is not None and self.grant.until_ms > now_ms

    def copy(self) -> Message:
        """It as it is now."""
        return replace(self, tokens=set(self.tokens), old_tokens=set(self.old_tokens))

    def revive(self) -> None:
        """It lives again, and knows nothing of its earlier leases."""
        self.old_tokens |= self.tokens
        self.tokens.clear()
        self.grant, self.step, self.is_revived = None, 0, True

    def end(self, state: State) -> None:
        """Nothing may be done with it any more."""
        self.state, self.grant = state, None


@dataclass
class Ledger:
    """What Redis knows, and goes back with it: messages by name, rates and when they let one start, revoked ids."""

    messages: dict[str, Message] = field(default_factory=dict)
    intervals_ms: dict[str, int] = field(default_factory=dict)
    next_start_ms: dict[str, float] = field(default_factory=dict)
    revoked_until_ms: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def copy(self) -> Ledger:
        """It as it is now."""
        return Ledger(
            {name: message.copy() for name, message in self.messages.items()},
            dict(self.intervals_ms), dict(self.next_start_ms), self.revoked_until_ms.copy(),
        )  # fmt: skip

    def live(self) -> list[Message]:
        """Messages that have to be run."""
        return [message for message in self.messages.values() if message.state is State.LIVE]

    def held(self, now_ms: int) -> list[Message]:
        """Messages with a lease that has not run out."""
        return [message for message in self.live() if message.is_held(now_ms)]

    def of_base(self, base: str) -> list[Message]:
        """A message and its copies, where they are live."""
        return [message for message in self.live() if message.base == base]
