"""Every Redis key of DelayHub: its name, its type, what it means. No key is built anywhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from delayhub.engine.lane_tag import tag
from delayhub.errors import OptionError

#: Suffixes of a queue's keys. The scripts name them (``WAITING`` …); :func:`with_literals` puts them in.
QUEUE_PARTS = {
    "WAITING": ":waiting",
    "STEP_WAITING": ":waiting:",
    "KEY": ":key:",
    "READY": ":ready:",
    "LEASED": ":leased",
    "HOLDER": ":holder",
    "DEAD": ":dead",
    "REASON": ":reason",
    "PAYLOAD": ":payload",
    "STRIKES": ":strikes",
    "LOST": ":lost",
    "COPIES": ":copies",
    "REVOKED": ":revoked",
    "GATE": ":gate",
    "IN_FLIGHT": ":in_flight",
    "ADMITTED": ":admitted",
    "BREAKER": ":breaker",
    "TURNS": ":turns",
    "PAUSED": ":paused",
    "SLOT_KEYS": ":slot_keys",
    "HELD": ":held",
    "LIMITS": ":limits",
    "LIMITED": ":limited",
    "PARKED": ":parked",
    "PARKED_BY": ":parked:",
    "OPEN": ":open",
    "SHUT": ":shut",
    "FLYING": ":flying",
    "AT_ONCE": ":at_once",
    "UNIQUE": ":unique",
    "FOLLOWERS": ":followers",
    "TIMED": ":timed",
    "TIMED_IDS": ":timed_ids",
    "HEALED": ":healed",
}

#: Suffixes of what there is for each flow key, beside the sets of its timers: see :meth:`QueueKeys.flow_key`.
KEY_PARTS = {"KEY_TAT": ":tat"}

#: Suffixes of the keys that a whole lane shares. A queue's name never begins with ``@``.
LANE_PARTS = {
    "WAKE": ":@wake",
    "TOKEN": ":@token",
    "ALARM": ":@alarm",
    "AGENDA": ":@agenda",
    "LOADER": ":@loader",
    "EPOCH": ":@epoch",
    "DATABASE": ":@database",
    "CLAIMED": ":@claimed",
    "SCHEDULES": ":@schedules",
    "QUEUE_SLOTS": ":@slots",
    "LANE_HEALED": ":@healed",
}

#: Priority steps of a queue: its ready sets are ``:ready:0`` (goes first) to ``:ready:9``.
MAX_STEPS = 10
#: The step of timers that name no other. Theirs is the set in which earlier releases look for timers.
MIDDLE_STEP = 5
#: By how many ms a timer of the next step must be due earlier to go first, unless the gate says otherwise.
BONUS_MS = 60_000

#: A parked message's score is ``step · PARK_STEP + ready score - PARK_SINCE``, so that one set has the order of all
#: steps. The scores are µs since 1970, and their sum stays exact until 2053.
PARK_SINCE = 1_735_689_600_000_000  # 2025
PARK_STEP = 900_000_000_000_000


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


@dataclass(frozen=True)
class LaneKeys:
    """The keys that all queues of one lane share."""

    lane: str
    prefix: str = ""

    def __post_init__(self) -> None:
        if not self.lane:
            raise OptionError("a lane needs a name, got ''")

    @cached_property
    def base(self) -> str:
        """What every key of the lane begins with; scripts take it as a key and add the suffixes."""
        return f"{self.prefix}delayhub:{tag(self.lane)}"

    @cached_property
    def wake(self) -> str:
        """LIST of at most one token: the bell. Consumers BLPOP it, publishers and claims ring it."""
        return self.base + LANE_PARTS["WAKE"]

    @cached_property
    def token(self) -> str:
        """STRING, a counter: each claim draws its fencing token from it. Never behind Redis' clock."""
        return self.base + LANE_PARTS["TOKEN"]

    @cached_property
    def alarm(self) -> str:
        """STRING ``"<due ms>:<consumer>"``: who wakes at the next due time; the others are its backstop."""
        return self.base + LANE_PARTS["ALARM"]

    @cached_property
    def agenda(self) -> str:
        """ZSET, timer lanes only: queue → when it next wants attention, in ms."""
        return self.base + LANE_PARTS["AGENDA"]

    @cached_property
    def loader(self) -> str:
        """STRING with an end: who brings timers from the database into this lane."""
        return self.base + LANE_PARTS["LOADER"]

    @cached_property
    def epoch(self) -> str:
        """STRING: made with the first timers; when it is gone or another, timers were lost and are brought again."""
        return self.base + LANE_PARTS["EPOCH"]

    @cached_property
    def database(self) -> str:
        """STRING, in ms: since when loaders have found the database in reach without a break. It expires."""
        return self.base + LANE_PARTS["DATABASE"]

    @cached_property
    def claimed(self) -> str:
        """STRING, in ms, timer lanes only: when a worker, or a puller, last asked for due timers, to the second."""
        return self.base + LANE_PARTS["CLAIMED"]

    @cached_property
    def schedules(self) -> str:
        """HASH: name of a periodic entry → JSON: its fingerprint, last and next occurrence, who publishes it now."""
        return self.base + LANE_PARTS["SCHEDULES"]

    @cached_property
    def queue_slots(self) -> str:
        """STRING ``"<slots> <places>"``, in the lane of slot 0: how many slots are published to, and were ever."""
        return self.base + LANE_PARTS["QUEUE_SLOTS"]

    @cached_property
    def healed(self) -> str:
        """HASH, timer lanes: ``slots`` or ``agenda`` → how many were left behind, and put right. See ``healed``."""
        return self.base + LANE_PARTS["LANE_HEALED"]

    def queue(self, name: str) -> QueueKeys:
        """The keys of one queue in this lane."""
        return QueueKeys(f"{self.base}:{name}")


@dataclass(frozen=True)
class QueueKeys:
    """The keys of one queue. An id is in exactly one of waiting, ready, parked, leased and dead."""

    base: str

    @cached_property
    def waiting(self) -> str:
        """ZSET: id → due ms · 16 + priority step. Messages that are not due, and timers of the middle step."""
        return self.base + QUEUE_PARTS["WAITING"]

    def step_waiting(self, step: int) -> str:
        """ZSET per other priority step, timer queues: id → due ms · 16 + step. Timers of that step."""
        return f"{self.base}{QUEUE_PARTS['STEP_WAITING']}{step}"

    def ready(self, step: int) -> str:
        """ZSET per priority step: id → µs, its due time or now, never the same twice. Due and unclaimed."""
        return f"{self.base}{QUEUE_PARTS['READY']}{step}"

    @cached_property
    def leased(self) -> str:
        """ZSET: id → lease end, in ms. Claimed by a consumer."""
        return self.base + QUEUE_PARTS["LEASED"]

    @cached_property
    def holder(self) -> str:
        """HASH: id → ``"<token>:<step>:<score>"`` while leased: the fence, and the place to go back to."""
        return self.base + QUEUE_PARTS["HOLDER"]

    @cached_property
    def dead(self) -> str:
        """ZSET: id → time of death, in ms. Gave up; messages only."""
        return self.base + QUEUE_PARTS["DEAD"]

    @cached_property
    def reason(self) -> str:
        """HASH: id → why it is dead."""
        return self.base + QUEUE_PARTS["REASON"]

    @cached_property
    def payload(self) -> str:
        """HASH: id → bytes, the message. Timers have none."""
        return self.base + QUEUE_PARTS["PAYLOAD"]

    @cached_property
    def strikes(self) -> str:
        """HASH: id → leases that ran out; 0 where only its worker gave it back. None until it was delivered once."""
        return self.base + QUEUE_PARTS["STRIKES"]

    @cached_property
    def lost(self) -> str:
        """HASH: id → token of the first lease that ran out. Who held it or a later one may still end the message."""
        return self.base + QUEUE_PARTS["LOST"]

    @cached_property
    def copies(self) -> str:
        """HASH: ``n:<id>`` → highest copy number drawn, ``live:<id>`` → copies not yet done."""
        return self.base + QUEUE_PARTS["COPIES"]

    @cached_property
    def revoked(self) -> str:
        """ZSET: id → until when it stays revoked, in ms. Tombstones."""
        return self.base + QUEUE_PARTS["REVOKED"]

    @cached_property
    def gate(self) -> str:
        """HASH, timer queues: what a claim may take (rate, burst, slots, shut_until, …), its revision; steps, keyed."""
        return self.base + QUEUE_PARTS["GATE"]

    @cached_property
    def in_flight(self) -> str:
        """ZSET, timer queues: id → until when it holds a slot of ``max_in_flight``, in ms."""
        return self.base + QUEUE_PARTS["IN_FLIGHT"]

    @cached_property
    def admitted(self) -> str:
        """STRING, timer queues with an insert rate: arrival time, in µs, of the permit after the last."""
        return self.base + QUEUE_PARTS["ADMITTED"]

    @cached_property
    def breaker(self) -> str:
        """STRING ``"open:<until ms>:<host>"`` or ``"healed:<since ms>:<host>"``: its receiver failed. It expires."""
        return self.base + QUEUE_PARTS["BREAKER"]

    def flow_key(self, key: str) -> QueueKeys:
        """ZSETs as the queue's, for the timers of one flow key, and STRING ``tat``: its next permit, in µs."""
        return QueueKeys(self.base + QUEUE_PARTS["KEY"] + key)

    @cached_property
    def turns(self) -> str:
        """ZSET: flow key → when it next wants a turn, in ms (timers), or its turn (messages, see ``open``)."""
        return self.base + QUEUE_PARTS["TURNS"]

    @cached_property
    def paused(self) -> str:
        """HASH, timer queues: flow key → until when it is paused, in ms."""
        return self.base + QUEUE_PARTS["PAUSED"]

    @cached_property
    def slot_keys(self) -> str:
        """HASH, timer queues whose keys have a limit in flight: id → flow key, while it holds a slot."""
        return self.base + QUEUE_PARTS["SLOT_KEYS"]

    @cached_property
    def held(self) -> str:
        """HASH, the same queues: flow key → slots that it holds."""
        return self.base + QUEUE_PARTS["HELD"]

    @cached_property
    def limits(self) -> str:
        """HASH: ``<layer>:<task>`` → ``"<µs between starts, or how many at once; 0 for no limit> <text>"``."""
        return self.base + QUEUE_PARTS["LIMITS"]

    @cached_property
    def limited(self) -> str:
        """HASH: task → ``"<µs between starts>:<next start, in µs>:<how many at once>"``, of limits in force."""
        return self.base + QUEUE_PARTS["LIMITED"]

    @cached_property
    def parked(self) -> str:
        """STRING: how many messages are parked. Gone with the last."""
        return self.base + QUEUE_PARTS["PARKED"]

    def parked_by(self, task: str) -> str:
        """ZSET: id → place in line (see ``PARK_STEP``). Due messages that the limit of a task, or key, holds back."""
        return self.base + QUEUE_PARTS["PARKED_BY"] + task

    @cached_property
    def open(self) -> str:
        """ZSET: task or flow key with parked messages, whose limit lets one start → the place of its first message."""
        return self.base + QUEUE_PARTS["OPEN"]

    @cached_property
    def shut(self) -> str:
        """ZSET: task or flow key with parked messages, of which none may start → when one may, in ms, or inf."""
        return self.base + QUEUE_PARTS["SHUT"]

    @cached_property
    def flying(self) -> str:
        """HASH: id → task, or flow key, among whose messages that may run at once a leased one counts."""
        return self.base + QUEUE_PARTS["FLYING"]

    @cached_property
    def at_once(self) -> str:
        """HASH: task, or flow key → how many of these there are."""
        return self.base + QUEUE_PARTS["AT_ONCE"]

    @cached_property
    def unique(self) -> str:
        """HASH: ``key:<unique key>`` → the id that has it; more of each such message is in ``parts/pass_key.lua``."""
        return self.base + QUEUE_PARTS["UNIQUE"]

    @cached_property
    def followers(self) -> str:
        """ZSET by name: unique key, NUL, number, NUL, id. Messages that wait until the one with their key is done."""
        return self.base + QUEUE_PARTS["FOLLOWERS"]

    @cached_property
    def timed(self) -> str:
        """ZSET: unique key that is taken for a time → until when, in ms. It expires with the last."""
        return self.base + QUEUE_PARTS["TIMED"]

    @cached_property
    def timed_ids(self) -> str:
        """HASH: unique key that is taken for a time → the id that took it. It expires with the last."""
        return self.base + QUEUE_PARTS["TIMED_IDS"]

    @cached_property
    def healed(self) -> str:
        """HASH: ``places``, ``turns``, ``keys`` or ``parked`` → how many were left behind, and claims put right."""
        return self.base + QUEUE_PARTS["HEALED"]

    @property
    def every(self) -> tuple[str, ...]:
        """All keys of the queue, but those of :meth:`parked_by`."""
        by_step = tuple(key(step) for key in (self.ready, self.step_waiting) for step in range(MAX_STEPS))
        return by_step + tuple(self.base + suffix for suffix in QUEUE_PARTS.values() if not suffix.endswith(":"))
