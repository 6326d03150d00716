"""TendedEntries: the entries that one beat tends, as Redis has them; other beats tend the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import redis
from celery.utils.log import get_logger

from delayhub.beat.definition import MISSED_AFTER_MS, Definition
from delayhub.clock import Clock
from delayhub.engine.occurrences import ClaimedOccurrence, EntryLanes, Occurrence, OccurrenceBook, PeriodicEntry

logger = get_logger(__name__)

#: After so long without a beat that has its definition, an entry goes to a beat that has another one.
DESERTED_MS = 30_000
#: The fingerprint of what is left in a lane while its entry moves to another one: no beat's.
MOVED = "moved"
#: How soon a beat looks again at what another one is publishing.
AGAIN_MS = 250


@dataclass(slots=True)
class Standing:
    """An entry that this beat may publish: its definition, its state, and not to be claimed before a time."""

    definition: Definition
    known: PeriodicEntry
    not_before_ms: int = 0

    @property
    def next_ms(self) -> int:
        """When it wants attention; 0 for never."""
        return max(self.known.next, self.not_before_ms) if self.known.next else 0


class TendedEntries:
    """The entries that one beat tends.

    Args:
        client: the broker's Redis.
        key_prefix: as of its queues.
        beat: a name that no other beat has.
        clock: whose monotonic time is compared with Redis' clock, which decides.
    """

    def __init__(self, client: redis.Redis, *, key_prefix: str, beat: str, clock: Clock) -> None:
        self.client = client
        self.key_prefix = key_prefix
        self.beat = beat
        self.clock = clock
        self.lanes = EntryLanes(client, key_prefix=key_prefix)
        self.standing: dict[str, Standing] = {}
        #: Names of the entries of the last look; None before the first.
        self._looked_at: frozenset[str] | None = None
        self._met: dict[str, str] = {}
        self._ahead_ms = 0

    def now_ms(self) -> int:
        """Redis' time, as far as the last answer says; never ahead of it."""
        return int(self.clock.monotonic() * 1000) + self._ahead_ms

    def look(self, definitions: Sequence[Definition]) -> None:
        """Learns where entries stand, and writes down those that are new or changed.

        Raises:
            redis.RedisError: Redis does not answer.
        """
        prints = {definition.name: definition.print for definition in definitions}
        lanes = self.lanes.of(list(prints))
        by_lane: dict[str, list[Definition]] = {}
        for definition in definitions:
            by_lane.setdefault(lanes.get(definition.name, definition.lane), []).append(definition)
        before, self.standing = self.standing, {}
        for lane, there in by_lane.items():
            found = self._look_at(lane, {definition.name: prints[definition.name] for definition in there})
            for definition in there:
                known = found.get(definition.name)
                known = self._agreed(definition, known, lane=lane, is_noted=definition.name in lanes)
                if known is not None:
                    last = before.get(definition.name)
                    wait = last.not_before_ms if last is not None and last.known.next == known.next else 0
                    self.standing[definition.name] = Standing(definition, known, wait)
        self._met = {name: print_ for name, print_ in self._met.items() if name in prints}
        self._looked_at = frozenset(prints)

    def first(self) -> Standing | None:
        """The entry that wants attention first."""
        return min((one for one in self.standing.values() if one.next_ms), key=lambda one: one.next_ms, default=None)

    def claim(self, standing: Standing) -> Occurrence | None:
        """The occurrence that is due, to be published within a second; None where it is another beat's.

        Raises:
            redis.RedisError: Redis does not answer.
        """
        definition, due_ms = standing.definition, standing.known.next
        book = self._book(definition.lane)
        claim = book.claim(definition.name, definition.print, due_ms=due_ms, beat=self.beat)
        self._note_time(claim.now_ms)
        if not claim.token:
            self._leave(standing, claim)
            return None
        assert claim.entry is not None
        standing.known = claim.entry
        turn = definition.turn(claim.entry, now_ms=claim.now_ms)
        found = Occurrence(
            lane=definition.lane,
            name=definition.name,
            token=claim.token,
            due_ms=due_ms,
            nominal_ms=turn.nominal_ms,
            next_ms=turn.next_ms,
        )
        if turn.nominal_ms:
            return found
        logger.info("%s was missed, and is skipped", definition.name, extra={"action": "beat"})
        self.skip(standing, found)
        return None

    def settle(self, occurrence: Occurrence) -> bool:
        """Moves an entry on whose occurrence was published in another way; whether it was this beat's.

        Raises:
            redis.RedisError: Redis does not answer.
        """
        return self._book(occurrence.lane).settle(occurrence)

    def skip(self, standing: Standing, occurrence: Occurrence) -> None:
        """Moves an entry on whose occurrence is not published.

        Raises:
            redis.RedisError: Redis does not answer.
        """
        if self._book(occurrence.lane).settle(occurrence, is_skipped=True):
            standing.known = replace(standing.known, next=occurrence.next_ms)

    def move_on(self, standing: Standing, occurrence: Occurrence) -> None:
        """Notes what this beat has published."""
        known = standing.known
        standing.known = replace(
            known, last=occurrence.nominal_ms, next=occurrence.next_ms, count=known.count + 1, ran=known.ran + 1
        )

    def wait(self, standing: Standing, *, milliseconds: int = AGAIN_MS) -> None:
        """Leaves an entry alone for so long."""
        standing.not_before_ms = self.now_ms() + milliseconds

    def _leave(self, standing: Standing, claim: ClaimedOccurrence) -> None:
        found = claim.entry
        if found is None or found.print != standing.definition.print:
            del self.standing[standing.definition.name]  # until the next look
            return
        is_held = found.next == standing.known.next and found.next <= claim.now_ms
        standing.known = found
        standing.not_before_ms = claim.now_ms + AGAIN_MS if is_held else 0

    def _agreed(
        self, definition: Definition, known: PeriodicEntry | None, *, lane: str, is_noted: bool
    ) -> PeriodicEntry | None:
        """The state of an entry that this beat may publish; None where another definition of it counts."""
        name, own = definition.name, definition.print
        # A row that was disabled and is enabled again; the admin's actions do that without a new time of change.
        is_back = bool(definition.bounds.edited_ms) and self._looked_at is not None and name not in self._looked_at
        since_ms = self.now_ms() if is_back else 0
        is_over = known is not None and 0 < known.next < since_ms - MISSED_AFTER_MS
        if known is not None and known.print == own and lane == definition.lane and not is_over:
            self._met[name] = own
            if not is_noted:
                self.lanes.note(name, lane)
            return known
        is_new = self._met.get(name) != own
        if known is not None and not is_new and known.seen > self.now_ms() - DESERTED_MS:
            return None
        try:
            planned = definition.plan(known, now_ms=self.now_ms(), since_ms=since_ms)
        except Exception:
            logger.exception("The next time of %s cannot be reckoned", name, extra={"action": "beat"})
            return None
        if not self._write(definition, planned, known, lane=lane):
            return None  # another beat was faster: the next look finds what it wrote
        self._met[name] = own
        self.lanes.note(name, definition.lane)
        return planned

    def _write(self, definition: Definition, planned: PeriodicEntry, known: PeriodicEntry | None, *, lane: str) -> bool:
        name, target = definition.name, self._book(definition.lane)
        if known is None or lane == definition.lane:
            return target.plan(name, planned, instead_of=known)
        # First no beat may publish from the old lane any more; a beat that is killed in between leaves the state there.
        source = self._book(lane)
        if not source.plan(name, replace(known, print=MOVED), instead_of=known):
            return False
        there = target.look({name: ""})[1].get(name)
        if not target.plan(name, planned, instead_of=there):
            return False
        self.lanes.note(name, definition.lane)
        source.forget([name])
        return True

    def _look_at(self, lane: str, prints: Mapping[str, str]) -> dict[str, PeriodicEntry]:
        now, found = self._book(lane).look(prints)
        self._note_time(now)
        return found

    def _note_time(self, now_ms: int) -> None:
        self._ahead_ms = now_ms - int(self.clock.monotonic() * 1000)

    def _book(self, lane: str) -> OccurrenceBook:
        return OccurrenceBook(self.client, lane, key_prefix=self.key_prefix)
