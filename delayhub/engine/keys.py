"""Every Redis key of DelayHub: its name, its type, what it means. No key is built anywhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

from delayhub.errors import OptionError

#: Suffixes of a queue's keys. The scripts get them as Lua constants (``WAITING`` …) from :func:`lua_constants`.
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


def lua_constants(source: str) -> str:
    """The key suffixes and numbers that a script's source names, as Lua constants to put before it."""
    values = {name: f"'{suffix}'" for name, suffix in {**QUEUE_PARTS, **KEY_PARTS, **LANE_PARTS}.items()}
    values |= {"MAX_STEPS": str(MAX_STEPS), "MIDDLE_STEP": str(MIDDLE_STEP), "BONUS_MS": str(BONUS_MS)}
    values |= {"PARK_SINCE": str(PARK_SINCE), "PARK_STEP": str(PARK_STEP)}
    return "".join(f"local {name} = {value}\n" for name, value in values.items() if re.search(rf"\b{name}\b", source))


def slot_of(basis: str, slots: int) -> int:
    """The slot an id belongs to: CRC32 of its slot basis, modulo a power of two."""
    return crc32(basis.encode()) % slots


def tag(lane: str, slot: int = 0, slots: int = 1) -> str:
    """The hash tag that puts a lane's keys (or one slot of them) on one Cluster slot.

    Braces in a lane's name would end the tag early, so they are percent-encoded.
    """
    name = lane.replace("%", "%25").replace("{", "%7B").replace("}", "%7D")
    return f"{{{name}/{slot}}}" if slots > 1 else f"{{{name}}}"


def directory(prefix: str = "") -> str:
    """SET of the names of all message queues that were declared, for verbs over all queues."""
    return f"{prefix}delayhub:queues"


def schedule_lanes(prefix: str = "") -> str:
    """HASH: name of a periodic entry → the lane that keeps its state, so that an entry may change its queue."""
    return f"{prefix}delayhub:schedules"


def limits(prefix: str = "") -> str:
    """HASH: task → JSON, the limit that a person set; workers bring it to each queue that they consume."""
    return f"{prefix}delayhub:limits"


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
    slot: int = 0
    slots: int = 1

    def __post_init__(self) -> None:
        if not self.lane:
            raise OptionError("a lane needs a name, got ''")

    @cached_property
    def base(self) -> str:
        """What every key of the lane begins with; scripts take it as a key and add the suffixes."""
        return f"{self.prefix}delayhub:{tag(self.lane, self.slot, self.slots)}"

    @cached_property
    def wake(self) -> str:
        """LIST of at most one token: the bell. Consumers BLPOP it, publishers and claims ring it."""
        return self.base + LANE_PARTS["WAKE"]

    @cached_property
    def token(self) -> str:
        """STRING, a counter: each claim draws its fencing token from it."""
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
        """HASH, timer queues: what a claim may take (rate, burst, slots, shut_until, weight, tat); steps, keyed."""
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
        """ZSET, timer queues: flow key → when it next wants a turn, in ms. Claims go by this line."""
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
        """HASH: ``declared:<task>`` and ``set:<task>`` → ``"<µs between starts, 0 for no limit> <text>"``."""
        return self.base + QUEUE_PARTS["LIMITS"]

    @cached_property
    def limited(self) -> str:
        """HASH: task → ``"<µs between starts>:<when the next may start, in µs>"``, of tasks with a limit in force."""
        return self.base + QUEUE_PARTS["LIMITED"]

    @cached_property
    def parked(self) -> str:
        """STRING: how many messages are parked. Gone with the last."""
        return self.base + QUEUE_PARTS["PARKED"]

    def parked_by(self, task: str) -> str:
        """ZSET: id → place in line (see ``PARK_STEP``). Due messages of the task that its limit holds back."""
        return self.base + QUEUE_PARTS["PARKED_BY"] + task

    @cached_property
    def open(self) -> str:
        """ZSET: task with parked messages, whose limit lets one start → the place of its first message."""
        return self.base + QUEUE_PARTS["OPEN"]

    @cached_property
    def shut(self) -> str:
        """ZSET: task with parked messages, whose limit lets none start → when it next does, in ms."""
        return self.base + QUEUE_PARTS["SHUT"]

    @property
    def every(self) -> tuple[str, ...]:
        """All keys of the queue, but those of :meth:`parked_by`."""
        by_step = tuple(key(step) for key in (self.ready, self.step_waiting) for step in range(MAX_STEPS))
        return by_step + tuple(self.base + suffix for suffix in QUEUE_PARTS.values() if not suffix.endswith(":"))
