"""OccurrenceBook: where the periodic entries of a lane stand, and who may publish the next occurrence of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from delayhub.engine.entry import Entry, Scheduled, parse_scheduled, text
from delayhub.engine.keys import LaneKeys, schedule_lanes
from delayhub.engine.scripts import Executor, script
from delayhub.engine.unique import Offered, UniqueKey, parse_offered

#: How long a beat has for publishing what it has claimed.
CLAIM_MS = 1_000
#: How often it is noted that a beat tends an entry.
SEEN_MS = 5_000
#: How the words of an entry begin that cannot be published; the reason follows.
LEFT_OUT = "left out: "


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicEntry:
    """Where one entry stands. Times are Unix ms; 0 for none.

    Args:
        print: fingerprint of its whole definition; a beat with another one publishes nothing of it.
        grid: fingerprint of what decides its times.
        task: the task's name.
        words: its schedule, for people.
        anchor: where its intervals are counted from.
        next: when it occurs next.
        last: the nominal time of the occurrence that was published last.
        count: how many were published.
        ran: how many of these since its times were changed.
        seen: when a beat with this fingerprint tended it last.
        holder: the beat that publishes an occurrence at this moment, until ``till``.
        till: when another beat may take that over.
    """

    print: str
    grid: str
    task: str = ""
    words: str = ""
    anchor: int = 0
    next: int = 0
    last: int = 0
    count: int = 0
    ran: int = 0
    seen: int = 0
    holder: str = ""
    till: int = 0


class ClaimedOccurrence(NamedTuple):
    """What a claim gave: a token ('' for none), Redis' time in ms, and the entry, where there is one."""

    token: str
    now_ms: int
    entry: PeriodicEntry | None


@dataclass(slots=True, kw_only=True)
class Occurrence:
    """An occurrence that this process may publish.

    Args:
        lane: where its entry's state is.
        name: the entry's.
        token: as its claim gave it.
        due_ms: which occurrence it is.
        nominal_ms: the time that it stands for; later than the due time where others were missed.
        next_ms: when the entry occurs next; 0 for never.
        is_over: whether the entry has moved on, or is another's by now.
    """

    lane: str
    name: str
    token: str
    due_ms: int
    nominal_ms: int
    next_ms: int
    is_over: bool = False


class OccurrenceBook:
    """The periodic entries of one lane.

    Args:
        client: a redis-py client that does not decode replies.
        lane: the queue that the entries publish to.
        key_prefix: as of the queue.
    """

    def __init__(self, client: Executor, lane: str, *, key_prefix: str = "") -> None:
        self.client = client
        self.keys = LaneKeys(lane, key_prefix)
        self.lane = lane

    def look(self, prints: Mapping[str, str]) -> tuple[int, dict[str, PeriodicEntry]]:
        """Redis' time in ms, and where entries stand; those with these fingerprints are noted as tended."""
        args = [argument for pair in prints.items() for argument in pair]
        now, *found = self._run("look_occurrences", [SEEN_MS, *args])
        return int(now), {name: parse_entry(raw) for name, raw in zip(prints, found, strict=True) if raw}

    def plan(self, name: str, entry: PeriodicEntry, *, instead_of: PeriodicEntry | None) -> bool:
        """Whether an entry was written down; not where it is no more what the caller has read."""
        known = instead_of or PeriodicEntry(print="", grid="")
        return bool(self._run("plan_occurrence", [name, known.print, known.count, dump_entry(entry)]))

    def claim(self, name: str, fingerprint: str, *, due_ms: int, beat: str) -> ClaimedOccurrence:
        """A token for the occurrence that is due at that time, for a second; only one beat gets one."""
        token, now, entry = self._run("claim_occurrence", [name, fingerprint, due_ms, beat, CLAIM_MS])
        return ClaimedOccurrence(text(token), int(now), parse_entry(entry) if entry else None)

    def put(
        self, occurrence: Occurrence, entry: Entry, *, unique: UniqueKey | None = None
    ) -> Scheduled | Offered | None:
        """Stores an occurrence's message in the lane's queue and moves its entry on; None where the token is void.

        A message whose unique key is taken is not stored; its entry moves on.
        """
        args = [occurrence.name, occurrence.token, occurrence.due_ms, occurrence.nominal_ms, occurrence.next_ms]
        message = [entry.id, entry.due_ms, entry.step, entry.payload]
        keys = [self.keys.queue(self.lane).base, self.keys.base]
        of_key = unique.arguments() if unique is not None else []
        answer = script("put_occurrence").run(self.client, keys, [*args, *message, *of_key])
        if isinstance(answer, list):
            return parse_offered(answer)
        return None if answer == 0 else parse_scheduled(entry.id, answer)

    def settle(self, occurrence: Occurrence, *, is_skipped: bool = False) -> bool:
        """Moves an entry past an occurrence without a message; whether the token held."""
        nominal = 0 if is_skipped else occurrence.nominal_ms
        args = [occurrence.name, occurrence.token, occurrence.due_ms, nominal, occurrence.next_ms]
        return bool(self._run("settle_occurrence", args))

    def all(self) -> dict[str, PeriodicEntry]:
        """Every entry of the lane."""
        found = self.client.execute_command("HGETALL", self.keys.schedules)
        return {text(name): parse_entry(raw) for name, raw in found.items()}

    def forget(self, names: Iterable[str]) -> int:
        """How many entries were removed; a beat that still has one writes it down again, as a new one."""
        return int(self.client.execute_command("HDEL", self.keys.schedules, *names))

    def _run(self, verb: str, args: list[Any]) -> Any:
        return script(verb).run(self.client, [self.keys.base], args)


class EntryLanes:
    """Which lane keeps each periodic entry of a broker.

    Args:
        client: as of :class:`OccurrenceBook`.
        key_prefix: as of the queues.
    """

    def __init__(self, client: Executor, *, key_prefix: str = "") -> None:
        self.client = client
        self.key = schedule_lanes(key_prefix)

    def of(self, names: list[str]) -> dict[str, str]:
        """The lane of each of these entries that is known."""
        if not names:
            return {}
        found = self.client.execute_command("HMGET", self.key, *names)
        return {name: text(lane) for name, lane in zip(names, found, strict=True) if lane is not None}

    def all(self) -> dict[str, str]:
        """The lane of every entry."""
        return {text(name): text(lane) for name, lane in self.client.execute_command("HGETALL", self.key).items()}

    def note(self, name: str, lane: str) -> None:
        """Writes down where an entry is."""
        self.client.execute_command("HSET", self.key, name, lane)

    def forget(self, name: str) -> None:
        """Removes an entry."""
        self.client.execute_command("HDEL", self.key, name)


_FIELDS = tuple(field.name for field in fields(PeriodicEntry))


def parse_entry(raw: bytes | str) -> PeriodicEntry:
    """An entry as the scripts keep it, as a value; fields of later releases are left out."""
    found = json.loads(raw)
    return PeriodicEntry(**{name: found[name] for name in _FIELDS if name in found})


def dump_entry(entry: PeriodicEntry) -> str:
    """An entry as the scripts keep it, without a holder."""
    kept = {name: value for name, value in asdict(entry).items() if value and name not in {"holder", "till"}}
    return json.dumps(kept)
