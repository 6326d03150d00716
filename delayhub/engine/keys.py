"""Every Redis key of DelayHub: its name, its type, what it means. No key is built anywhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from delayhub.engine.lane_tag import tag
from delayhub.errors import OptionError

#: Priority steps of a queue: its ready sets are ``:ready:0`` (goes first) to ``:ready:9``.
MAX_STEPS = 10
#: The step of timers that name no other. Theirs is the set of a queue that has no other steps.
MIDDLE_STEP = 5
#: By how many ms a timer of the next step must be due earlier to go first, unless the gate says otherwise.
BONUS_MS = 60_000

#: A parked message's score is ``step · PARK_STEP + ready score - PARK_SINCE``, so that one set has the order of all
#: steps. The scores are µs since 1970, and their sum stays exact until 2053.
PARK_SINCE = 1_735_689_600_000_000  # 2025
PARK_STEP = 900_000_000_000_000

#: What stands before a step, a task or a flow key in the names of those keys of which a queue has one for each.
BY_NAME = {"STEP_WAITING": ":waiting:", "READY": ":ready:", "PARKED_BY": ":parked:", "KEY": ":key:"}


def directory(prefix: str = "") -> str:
    """SET of the names of all message queues that were declared, for verbs over all queues."""
    return f"{prefix}delayhub:queues"


def schedule_lanes(prefix: str = "") -> str:
    """HASH: name of a periodic entry → the lane that keeps its state, so that an entry may change its queue."""
    return f"{prefix}delayhub:schedules"


def limits(prefix: str = "", part: str = "") -> str:
    """HASH: task → JSON, the limit that a person set, for all queues; part ``:at_once``: how many may run at once."""
    return f"{prefix}delayhub:limits{part}"


def moving(prefix: str, key: str) -> str:
    """LIST: messages of kombu's list of that key on their way to us; an import that is cut short leaves it behind."""
    return f"{prefix}delayhub:moving:{key}"


def moving_lock(prefix: str) -> str:
    """STRING with an end: who imports from kombu's lists now."""
    return f"{prefix}delayhub:moving"


def workers(prefix: str = "") -> str:
    """SET of the names of worker processes that have sent a heartbeat; readers remove those that sent no other."""
    return f"{prefix}delayhub:workers"


def worker(prefix: str, name: str) -> str:
    """STRING with an end, JSON: the last heartbeat of the worker process of that name."""
    return f"{prefix}delayhub:worker:{name}"


def outage(prefix: str = "") -> str:
    """STRING with an end, JSON: an outage of the database, and whether its owner was told of it."""
    return f"{prefix}delayhub:outage"


def outage_lock(prefix: str = "") -> str:
    """STRING with an end: the process that tells of the outage at this moment."""
    return f"{prefix}delayhub:outage:lock"


def watcher(prefix: str = "") -> str:
    """STRING with an end: a process watches for alerts at this moment, ``web`` or ``worker``."""
    return f"{prefix}delayhub:watcher"


class Part:
    """A key of a queue or a lane: what all its keys begin with and this suffix, which scripts name in capitals.

    Args:
        suffix: the suffix.
        about: its Redis type, and what it means.
        name: how scripts name it, where that is not the attribute's name.
    """

    def __init__(self, suffix: str, about: str, *, name: str = "") -> None:
        self.suffix = suffix
        self.name = name
        self.__doc__ = about

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name
        self.name = self.name or name.upper()

    def __get__(self, keys: LaneKeys | QueueKeys, owner: type) -> str:
        key = vars(keys)[self._attribute] = keys.base + self.suffix
        return key


@dataclass(frozen=True)
class LaneKeys:
    """The keys that all queues of one lane share. A queue's name never begins with ``@``."""

    lane: str
    prefix: str = ""

    def __post_init__(self) -> None:
        if not self.lane:
            raise OptionError("a lane needs a name, got ''")

    @cached_property
    def base(self) -> str:
        """What every key of the lane begins with; scripts take it as a key and add the suffixes."""
        return f"{self.prefix}delayhub:{tag(self.lane)}"

    wake = Part(":@wake", "LIST of at most one token: the bell. Consumers BLPOP it, publishers and claims ring it.")
    token = Part(":@token", "STRING, a counter: each claim draws its fencing token from it. Never behind Redis' clock.")
    alarm = Part(
        ":@alarm", 'STRING ``"<due ms>:<consumer>"``: who wakes at the next due time; the others are its backstop.'
    )
    agenda = Part(":@agenda", "ZSET, timer lanes only: queue → when it next wants attention, in ms.")
    loader = Part(":@loader", "STRING with an end: who brings timers from the database into this lane.")
    epoch = Part(
        ":@epoch",
        "STRING: made with the first timers; when it is gone or another, timers were lost and are brought again.",
    )
    database = Part(
        ":@database", "STRING, in ms: since when loaders have found the database in reach without a break. It expires."
    )
    claimed = Part(
        ":@claimed",
        "STRING, in ms, timer lanes only: when a worker, or a puller, last asked for due timers, to the second.",
    )
    schedules = Part(
        ":@schedules",
        "HASH: name of a periodic entry → JSON: its fingerprint, last and next occurrence, who publishes it now.",
    )
    queue_slots = Part(
        ":@slots",
        'STRING ``"<slots> <places>"``, in the lane of slot 0: how many slots are published to, and were ever.',
    )
    healed = Part(
        ":@healed",
        "HASH, timer lanes: ``slots`` → how many were left behind, and put right. See ``healed``.",
        name="LANE_HEALED",
    )

    def queue(self, name: str) -> QueueKeys:
        """The keys of one queue in this lane."""
        return QueueKeys(f"{self.base}:{name}")


@dataclass(frozen=True)
class QueueKeys:
    """The keys of one queue. An id is in exactly one of waiting, ready, parked, leased and dead."""

    base: str

    waiting = Part(
        ":waiting", "ZSET: id → due ms · 16 + priority step. Messages that are not due, and timers of the middle step."
    )

    def step_waiting(self, step: int) -> str:
        """ZSET per other priority step, timer queues: id → due ms · 16 + step. Timers of that step."""
        return f"{self.base}{BY_NAME['STEP_WAITING']}{step}"

    def ready(self, step: int) -> str:
        """ZSET per priority step: id → µs, its due time or now, never the same twice. Due and unclaimed."""
        return f"{self.base}{BY_NAME['READY']}{step}"

    leased = Part(":leased", "ZSET: id → lease end, in ms. Claimed by a consumer.")
    holder = Part(
        ":holder", 'HASH: id → ``"<token>:<step>:<score>"`` while leased: the fence, and the place to go back to.'
    )
    dead = Part(":dead", "ZSET: id → time of death, in ms. Gave up; messages only.")
    reason = Part(":reason", "HASH: id → why it is dead.")
    payload = Part(":payload", "HASH: id → bytes, the message. Timers have none.")
    strikes = Part(
        ":strikes",
        "HASH: id → leases that ran out; 0 where only its worker gave it back. None until it was delivered once.",
    )
    lost = Part(
        ":lost",
        "HASH: id → token of the first lease that ran out. Who held it or a later one may still end the message.",
    )
    copies = Part(":copies", "HASH: ``n:<id>`` → highest copy number drawn, ``live:<id>`` → copies not yet done.")
    revoked = Part(":revoked", "ZSET: id → until when it stays revoked, in ms. Tombstones.")
    gate = Part(
        ":gate",
        "HASH, timer queues: what a claim may take (rate, burst, slots, shut_until, …), its revision; steps, keyed.",
    )
    in_flight = Part(":in_flight", "ZSET, timer queues: id → until when it holds a slot of ``max_in_flight``, in ms.")
    admitted = Part(
        ":admitted", "STRING, timer queues with an insert rate: arrival time, in µs, of the permit after the last."
    )
    breaker = Part(
        ":breaker",
        'STRING ``"open:<until ms>:<host>"`` or ``"healed:<since ms>:<host>"``: its receiver failed. It expires.',
    )

    token_breaker = Part(
        ":token_breaker",
        "STRING as ``breaker``, with the host of the token server, a blank and a reason: it gave no access token.",
    )
    access_token = Part(
        ":access_token",
        "STRING, encrypted JSON: the access token of the biz type, or why there is none. It expires as that does.",
    )
    token_lock = Part(":token_lock", "STRING with an end: a process asks for that access token at this moment.")

    def flow_key(self, key: str) -> QueueKeys:
        """ZSETs as the queue's, for the timers of one flow key, and STRING ``tat``: its next permit, in µs."""
        return QueueKeys(self.base + BY_NAME["KEY"] + key)

    turns = Part(
        ":turns", "ZSET: flow key → when it next wants a turn, in ms (timers), or its turn (messages, see ``open``)."
    )
    paused = Part(":paused", "HASH, timer queues: flow key → until when it is paused, in ms.")
    slot_keys = Part(
        ":slot_keys", "HASH, timer queues whose keys have a limit in flight: id → flow key, while it holds a slot."
    )
    held = Part(":held", "HASH, the same queues: flow key → slots that it holds.")
    limits = Part(
        ":limits", 'HASH: ``<layer>:<task>`` → ``"<µs between starts, or how many at once; 0 for no limit> <text>"``.'
    )
    limited = Part(
        ":limited", 'HASH: task → ``"<µs between starts>:<next start, in µs>:<how many at once>"``, of limits in force.'
    )
    parked = Part(":parked", "STRING: how many messages are parked. Gone with the last.")

    def parked_by(self, task: str) -> str:
        """ZSET: id → place in line (see ``PARK_STEP``). Due messages that the limit of a task, or key, holds back."""
        return self.base + BY_NAME["PARKED_BY"] + task

    open = Part(
        ":open",
        "ZSET: task or flow key with parked messages, whose limit lets one start → the place of its first message.",
    )
    shut = Part(
        ":shut", "ZSET: task or flow key with parked messages, of which none may start → when one may, in ms, or inf."
    )
    flying = Part(
        ":flying", "HASH: id → task, or flow key, among whose messages that may run at once a leased one counts."
    )
    at_once = Part(":at_once", "HASH: task, or flow key → how many of these there are.")
    unique = Part(
        ":unique",
        "HASH: ``key:<unique key>`` → the id that has it; more of each such message is in ``parts/pass_key.lua``.",
    )
    followers = Part(
        ":followers",
        "ZSET by name: unique key, NUL, number, NUL, id. Messages that wait until the one with their key is done.",
    )
    timed = Part(":timed", "ZSET: unique key that is taken for a time → until when, in ms. It expires with the last.")
    timed_ids = Part(
        ":timed_ids", "HASH: unique key that is taken for a time → the id that took it. It expires with the last."
    )
    healed = Part(
        ":healed",
        "HASH: ``places``, ``keys`` or ``parked`` → how many were left behind, and claims put right.",
    )

    @property
    def every(self) -> tuple[str, ...]:
        """All keys of the queue, but those of :meth:`parked_by`."""
        by_step = tuple(key(step) for key in (self.ready, self.step_waiting) for step in range(MAX_STEPS))
        return by_step + tuple(self.base + suffix for suffix in QUEUE_PARTS.values() if not suffix.endswith(":"))


def parts_of(owner: type) -> dict[str, str]:
    """The suffixes of a class of keys, by the names that scripts have for them."""
    return {part.name: part.suffix for part in vars(owner).values() if isinstance(part, Part)}


#: Suffixes of a queue's keys. The scripts name them (``WAITING`` …); :func:`with_literals` puts them in.
QUEUE_PARTS = parts_of(QueueKeys) | BY_NAME
#: Suffixes of what there is for each flow key, beside the sets of its timers: see :meth:`QueueKeys.flow_key`.
KEY_PARTS = {"KEY_TAT": ":tat"}
#: Suffixes of the keys that a whole lane shares.
LANE_PARTS = parts_of(LaneKeys)


def with_literals(source: str) -> str:
    """A script's source with the key suffixes and numbers that it names put in as literals, and without its comments.

    As local variables, each function that names one would keep it in a cell of its own, which Redis makes at each call.
    """
    values = {name: f"'{suffix}'" for name, suffix in {**QUEUE_PARTS, **KEY_PARTS, **LANE_PARTS}.items()}
    values |= {"MAX_STEPS": str(MAX_STEPS), "MIDDLE_STEP": str(MIDDLE_STEP), "BONUS_MS": str(BONUS_MS)}
    values |= {"PARK_SINCE": str(PARK_SINCE), "PARK_STEP": str(PARK_STEP)}
    # A name in a text is left as it is; a comment is no code; lines stay, since errors have their numbers.
    tokens = rf"""'[^'\n]*'|"[^"\n]*"|(--[^\n]*)|\b({"|".join(values)})\b"""
    return re.sub(tokens, lambda found: "" if found[1] else values[found[2]] if found[2] else found[0], source)
