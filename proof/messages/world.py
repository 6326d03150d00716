"""One queue, three consumers with memories of their own, and the clock of a history."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from delayhub.engine import DelayQueue, EngineOptions, Lease
from delayhub.engine.limits import SET, SET_AT_ONCE, Limit, set_limits
from proof.broken import Broken
from proof.messages.ledger import Grant, Ledger, Message, State
from proof.messages.places import Look, seen
from proof.messages.sometimes import Sometimes
from proof.met import Met
from proof.quick_redis import QuickRedis
from proof.snapshot import Snapshot, go_back, snapshot
from proof.virtual_time import VirtualTime

QUEUE = "q"
CONSUMERS = 3
LEASE_MS = 10_000
#: Tasks, by what may limit them, and flow keys; a key has a limit of its own where its task has one.
FREE, RATED, ONCE, BOTH = "shop.free", "shop.rated", "shop.once", "shop.both"
TASKS = (FREE, RATED, ONCE, BOTH)
FLOW_KEYS = ("", "", "a", "b")
#: ms between two starts, and how many may run at once, where a history has limits.
INTERVALS_MS = {RATED: 2000, BOTH: 500}
AT_ONCE = {ONCE: 2, BOTH: 1}
OF_EACH_KEY = {ONCE: 1}


@dataclass(frozen=True, slots=True)
class Held:
    """What a consumer believes to hold."""

    consumer: int
    name: str
    token: int


@dataclass(frozen=True)
class Setting:
    """What differs between histories from their beginning on."""

    has_rates: bool
    has_at_once: bool
    max_strikes: int
    goes_back: bool
    most_messages: int

    @classmethod
    def drawn(cls, chance: random.Random) -> Setting:
        """One of them."""
        return cls(
            has_rates=chance.random() < 0.7,
            has_at_once=chance.random() < 0.7,
            max_strikes=chance.choice([3, 16]),
            goes_back=chance.random() < 0.4,
            most_messages=chance.choice([1, 2, 100]),  # with few, verbs meet on one message
        )


class World:
    """The state of one history, and what its verbs share.

    Args:
        client: of an empty server, which reads the run's clock.
        setting: what this history has.
        met: what the run has come by.
        others: the clients of all consumers but the first, and of those who publish, cancel and move.
    """

    def __init__(self, client: QuickRedis, setting: Setting, met: Met, *, others: Sequence[Any]) -> None:
        client.flushall()
        self.client, self.setting, self.met = client, setting, met
        self.time = VirtualTime(client)
        options = EngineOptions(max_strikes=setting.max_strikes, lease_seconds=LEASE_MS / 1000)
        *self.queues, self.office = [DelayQueue(one, QUEUE, options=options) for one in (client, *others)]
        self.held: list[list[Held]] = [[] for _ in range(CONSUMERS)]
        self.ledger = Ledger()
        self.saved: tuple[Snapshot, Ledger] | None = None
        self.published = 0
        self.at_once: dict[str, int] = {}
        self.of_each_key: dict[str, int] = {}
        self.story: list[str] = []
        self._seen_at = -1
        #: Whether the bell has rung since that was last made False.
        self.has_rung = False
        if setting.has_rates:
            self.set_rates(INTERVALS_MS)
        if setting.has_at_once:
            set_limits(self.queue, SET_AT_ONCE, {task: Limit(most) for task, most in AT_ONCE.items()})
            set_limits(self.queue, SET_AT_ONCE, {task + "\0": Limit(most) for task, most in OF_EACH_KEY.items()})
            self.at_once, self.of_each_key = dict(AT_ONCE), dict(OF_EACH_KEY)
        self.check()

    @property
    def queue(self) -> DelayQueue:
        """The queue, as those use it who look at it, and who set limits and keys; ``office`` is that of all others."""
        return self.queues[0]

    @property
    def now_ms(self) -> int:
        """The time of the history."""
        return self.time.now_ms

    def tell(self, line: str) -> None:
        """Adds a line to the story of the history."""
        self.story.append(f"{self.time.since_begin_ms:>8} ms  {line}")

    def set_rates(self, intervals_ms: dict[str, int]) -> None:
        """Sets how far apart the starts of tasks have to be; 0 for any."""
        set_limits(self.queue, SET, {task: Limit(ms * 1000) if ms else None for task, ms in intervals_ms.items()})
        self.ledger.intervals_ms = {task: ms for task, ms in intervals_ms.items() if ms}
        self.ledger.next_start_ms.clear()

    def has_limits(self, message: Message) -> bool:
        """Whether a limit may hold the message back."""
        return message.task in self.ledger.intervals_ms or self.counts(message)

    def counts(self, message: Message) -> bool:
        """Whether it counts among those that may run at once."""
        return message.task in self.at_once or bool(message.flow_key and message.task in self.of_each_key)

    def lease(self, held: Held) -> Lease:
        """A consumer's lease, as verbs take it."""
        return self.queue.lease(held.name, held.token)

    def owner(self, held: Held) -> Message | None:
        """The message, where that lease is the last that was given of it, and nothing is known that ended it."""
        message = self.ledger.messages.get(held.name)
        grant = message.grant if message else None
        return message if grant and (grant.consumer, grant.token) == (held.consumer, held.token) else None

    def has_key(self, message: Message) -> bool:
        """Whether the message's unique key is its own, by what Redis keeps."""
        return self._key_holder(message) == message.name

    def lacks_key(self, message: Message) -> bool:
        """Whether the message has a unique key that is another's now, by what Redis keeps."""
        return message.unique is not None and self._key_holder(message) not in (None, message.name)

    def _key_holder(self, message: Message) -> str | None:
        assert message.unique is not None
        holder = self.client.hget(self.queue.keys.unique, f"key:{message.unique.key}")
        return None if holder is None else holder.decode()

    def look(self) -> Look:
        """What there is to know of the queue now; it looks where anything was sent since the last time."""
        if self.client.sent != self._seen_at:
            *earlier, self.seen = map(seen, self.client.take_behind())
            self._seen_at = self.client.sent
            self.has_rung |= self.seen.has_rung or any(look.has_rung for look in earlier)
        return self.seen

    def check(self) -> None:
        """Raises Broken where something is wrong with the places of messages; the next verb begins with what it saw."""
        if wrong := self.look().wrong:
            raise Broken(wrong)

    # ------------------------------------------------------------ Redis goes back

    def save(self) -> None:
        """Keeps the present state as one to which Redis may go back."""
        self.saved = snapshot(self.client), self.ledger.copy()

    def go_back(self) -> bool:
        """Redis loses what came since it was saved; consumers keep what they believe. False: none was saved."""
        if self.saved is None:
            return False
        earlier, ledger = self.saved
        lost = {held for holding in self.held for held in holding if self.owner(held)}
        go_back(self.client, earlier)
        self.ledger = ledger.copy()
        self.ledger.next_start_ms.clear()
        self.time.move(1)  # no server takes another's place within the ms; tokens of leases rely on that
        self.met.note(Sometimes.WENT_BACK)
        if any(self.owner(held) is None for held in lost):
            self.met.note(Sometimes.WENT_BACK_UNDER_LEASE)
        return True

    # ------------------------------------------------------------ what a claim may give

    def grant(self, consumer: int, name: str, token: int, until_ms: int) -> Message:
        """Enters a lease that a claim has given.

        Raises:
            Broken: it must not give this message now.
        """
        message = self.ledger.messages.get(name)
        if message is None:
            raise Broken(f"given though never stored: {name}")
        if message.state is not State.LIVE:
            raise Broken(f"given though {message.state}: {name}")
        if message.is_settled:
            raise Broken(f"given though it is done: {name}")
        if message.not_before_ms > self.now_ms:
            raise Broken(f"given too early: {name} by {message.not_before_ms - self.now_ms} ms")
        if message.is_held(self.now_ms):
            raise Broken(f"given while another holds it: {name}, {message.grant}")
        message.has_passed_key = message.is_settled = False
        self._check_key(message)
        if message.grant is not None:
            self.met.note(Sometimes.RAN_OUT)
        message.grant = Grant(consumer, token, until_ms)
        message.tokens.add(token)
        self._check_limits(message)
        return message

    def _check_key(self, message: Message) -> None:
        if message.keeps_key is None:
            return
        for other in self.ledger.held(self.now_ms):
            if other is not message and other.keeps_key == message.keeps_key:
                raise Broken(f"two of a unique key at once: {message.name} and {other.name}")

    def _check_limits(self, message: Message) -> None:
        interval = self.ledger.intervals_ms.get(message.task)
        if interval:
            allowed = self.ledger.next_start_ms.get(message.task, 0)
            if self.now_ms < allowed:
                raise Broken(f"started too soon after others of its task: {message.name} by {allowed - self.now_ms} ms")
            # A claim always comes a little late, so the next start counts from when this one could have been.
            self.ledger.next_start_ms[message.task] = max(allowed, self.now_ms - interval / 4) + interval
        for limits, key in ((self.at_once, None), (self.of_each_key, message.flow_key)):
            most = limits.get(message.task)
            if most is None or key == "":
                continue
            flying = [
                other.name
                for other in self.ledger.held(self.now_ms)
                if other.task == message.task and key in (None, other.flow_key)
            ]
            if len(flying) > most:
                raise Broken(f"more at once than may be: {len(flying)} of {message.task}, {flying}")
