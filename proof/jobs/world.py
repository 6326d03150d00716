"""The state of one history: rows as they were read last, what callers were told, timers that have to be there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from proof.broken import Broken
from proof.jobs.kinds import Kind
from proof.jobs.laws import check_begin, check_fate, check_form, check_leases, check_new, check_one, check_timer
from proof.jobs.ledger import Expected, Fact, Setting
from proof.jobs.lines import Line, check_lines, first_of, line_of
from proof.jobs.oracle import ENDS
from proof.jobs.places import check_places
from proof.jobs.receiver import Receiver
from proof.jobs.rows import Row, Rows
from proof.jobs.site import USING, WINDOW_SECONDS, Site, forget, is_resting
from proof.jobs.sometimes import Sometimes
from proof.jobs.wire import Died, Trouble
from proof.jobs.worker import Worker
from proof.met import Met
from proof.row_clock import RowClock
from proof.snapshot import Snapshot
from proof.virtual_time import VirtualTime
from tasksapp.conf import DEFAULT_LANE
from tasksapp.delivery.callback import Callback
from tasksapp.errors import JobError
from tasksapp.maintenance.loader import Loader
from tasksapp.models import BizType, Tombstone
from tasksapp.timers.lanes import patient_lane

WORKERS = 2
#: What a trouble at a place is called.
_TOLD = {
    Trouble.CRASH: dict.fromkeys(("sql", "commit", "redis"), Sometimes.CRASHED),
    Trouble.CRASH_AFTER: dict.fromkeys(("sql", "commit", "redis"), Sometimes.CRASHED_AFTER),
    Trouble.REFUSED: {"sql": Sometimes.STATEMENT_REFUSED},
    Trouble.LOST: {"commit": Sometimes.COMMIT_LOST, "redis": Sometimes.COMMAND_LOST},
    Trouble.REDIS_AWAY: {"redis": Sometimes.REDIS_AWAY},
    Trouble.DATABASE_AWAY: dict.fromkeys(("sql", "commit"), Sometimes.DATABASE_REFUSED),
}


NOTHING = Expected()


def error_name(wrong: BaseException | None) -> str:
    """How the story calls what went wrong."""
    return "done" if wrong is None else type(wrong).__name__


class World:
    """The state of one history.

    Args:
        site: what histories share.
        setting: what this one has.
        met: what the run has come by.
    """

    def __init__(self, site: Site, setting: Setting, met: Met) -> None:
        site.begin()
        self.site, self.setting, self.met = site, setting, met
        self.time = VirtualTime(site.client)
        site.clocks.begin(self.time)
        self.clock: Any = RowClock(self.time)
        self.lane = patient_lane(DEFAULT_LANE)
        self.rows = Rows(USING)
        self.facts: dict[str, Fact] = {}
        self.names: dict[str, str] = {}
        #: When each biz id was resolved last, of those that are.
        self.resolved: dict[tuple[int, str], int] = {}
        #: Pending jobs whose timer is there, by what was answered; the loader is not needed for them.
        self.owed: set[str] = set()
        self.operations: dict[int, Counter[str]] = {}
        self.is_counted = True
        self.has_crashed = False
        #: By business key, the job that took its answer; and by key and time the answers of which a job has said so.
        self.answered: dict[tuple[int, str], str] = {}
        self.answers_taken: set[tuple[int, str, str]] = set()
        #: The job of each line that began last, and when it was due then.
        self.begun_in_line: dict[Line, tuple[str, int]] = {}
        #: Whether each place has to be somebody's: no verb had a trouble, and no claim of rows came too late.
        self.are_places_known = True
        #: When the database was last away; long before the beginning where it never was.
        self.database_back_ms = 0
        #: Jobs that the loader made pending again while a consumer held their timers.
        self.left_leased: set[str] = set()
        #: When timers fire that have to be there, as they were looked at last.
        self.fires_ms: dict[str, int | None] = {}
        #: Queues whose gates are gone, and until when no claim looks at them.
        self.shut_until_ms: dict[str, int] = {}
        #: Callbacks that have begun since rows were read last.
        self.begun: list[Callback] = []
        self.asked: list[Any] = []
        self.has_forgotten = False
        #: Whether Redis has lost all it had since the loader's last turn.
        self.is_empty = False
        self.saved: Snapshot | None = None
        self.story: list[str] = []
        self.chance = random.Random(0)
        self.made = 0
        site.open_gates()
        self.time.write()
        self.workers = [self._worker(number) for number in range(WORKERS)]
        self.loader = self.new_loader()

    @property
    def now_ms(self) -> int:
        """The time of the history."""
        return self.time.now_ms

    def tell(self, line: str) -> None:
        """Adds a line to the story of the history."""
        self.story.append(f"{self.time.since_begin_ms:>8} ms  {line}")

    def name(self, job_id: str) -> str:
        """How the story calls a job."""
        return self.names.setdefault(job_id, f"j{len(self.names) + 1}")

    def kind(self, row: Row) -> Kind:
        """The kind of its biz type."""
        return self.site.kind(row.biz_type_id)

    def live(self) -> list[Row]:
        """Rows that have not ended."""
        return [row for row in self.rows.by_id.values() if row.status not in ENDS]

    def of_biz_id(self, row: Row) -> list[Row]:
        """The other rows of its biz id that have not ended."""
        key = row.biz_type_id, row.biz_id
        return [
            other
            for other in self.live()
            if (other.biz_type_id, other.biz_id) == key and other.id != row.id and row.biz_id
        ]

    def with_status(self, *statuses: str) -> list[Row]:
        """Rows with one of these statuses."""
        return [row for row in self.rows.by_id.values() if row.status in statuses]

    def is_resolved(self, row: Row) -> bool:
        """Whether its biz id was resolved; what follows from a job is held by what was resolved since then."""
        at_ms = self.resolved.get((row.biz_type_id, row.biz_id))
        return at_ms is not None and (not row.follows or at_ms > row.created_ms)

    # ------------------------------------------------------------ processes

    def _worker(self, number: int) -> Worker:
        receiver = Receiver(
            now_ms=lambda: self.now_ms,
            begins=lambda callback: check_begin(self, callback),
            connects=lambda: self.chance.random() > 0.06,
        )
        worker = Worker(
            f"w{number}", clock=self.clock, loop=self.site.loop, receiver=receiver, most_open=self.setting.most_open
        )
        receiver.worker, worker.receiver = worker, receiver
        return worker

    def new_loader(self) -> Loader:
        """The loader of a process that has just started."""
        # What the loader before it says of the database ends by the server's own clock, which no history moves.
        self.site.client.delete(self.lane.keys.database)
        return Loader(using=USING, clock=self.clock, holder="loader")

    def end_worker(self, number: int) -> None:
        """A worker process is gone with all that it holds; another takes its place."""
        gone = self.workers[number]
        for task in gone.dispatcher.open_tasks:
            task.cancel()
        gone.receiver.open.clear()
        self.workers[number] = self._worker(number)
        self.site.go_on()

    def move(self, ms: int) -> None:
        """Lets time pass. A loader that is there finds meanwhile that the database answers."""
        while ms > 0:
            self.time.now_ms += min(ms, 5000)
            ms -= 5000
            if self.setting.has_loader:
                self.loader._uptime.note_answer()
        self.time.write()

    # ------------------------------------------------------------ a verb, and its trouble

    def do(self, verb: Callable[[], Any], *, steady: bool = False) -> tuple[Any, BaseException | None]:
        """What a verb of the product gave back, and what went wrong with it."""
        chance = self.chance
        is_troubled = not steady and chance.random() < self.setting.troubles
        trouble = chance.choice(list(Trouble)) if is_troubled else None
        wrong: BaseException | None = None
        value = None
        with self.site.wire.under(trouble, chance):
            try:
                value = verb()
            except (Died, Exception) as error:
                wrong = error
        if isinstance(wrong, Died):
            self.has_crashed = True
            forget()
        elif wrong is not None and not self.happened and not isinstance(wrong, JobError):
            raise Broken(f"{type(wrong).__name__}: {wrong}") from wrong
        if trouble is not None and self.happened:
            self.are_places_known = False
            if told := _TOLD[trouble].get(self.happened):
                self.met.note(told)
            self.tell(f"({trouble}: {self.happened})")
        return value, wrong

    @property
    def happened(self) -> str:
        """The place of the trouble of the last verb; '' for none."""
        return self.site.wire.happened

    # ------------------------------------------------------------ laws

    def settle(self, expected: Expected = NOTHING) -> dict[str, tuple[Row | None, Row]]:
        """Reads all rows, and compares what has changed with what may have; gives that back.

        Raises:
            Broken: a law does not hold.
        """
        changed = self.rows.read()
        is_clean = not self.happened and not is_resting()
        if any(self.kind(after).hears for _, after in changed.values()):
            self.read_tombstones()
        fresh: list[Row] = []
        for job_id, (before, after) in changed.items():
            self.facts.setdefault(job_id, Fact())
            check_form(self, before, after)
            if before is None:
                fresh.append(after)
            else:
                check_fate(self, before, after, expected.fates.get(job_id, ()))
            if (expected.sets_timers or after.status != "pending") and line_of(self, after) is None:
                self._note_timer(after, is_clean=is_clean)
            if is_clean and expected.sets_timers:
                check_timer(self, before, after, is_put=expected.puts_timers)
        check_new(self, fresh, changed, expected)
        check_one(self, [after for _, after in changed.values()])
        lines = check_lines(self, changed.values())
        if expected.sets_timers:
            for line in lines:
                self._note_line(line, is_clean=is_clean)
        if expected.is_sure:
            stayed = expected.fates.keys() - changed.keys() - expected.may_stay
            if stayed:
                raise Broken(f"nothing was done to it, though that was said: {self.told(stayed)}")
        for worker in self.workers:
            if worker.receiver.broken is not None:
                raise worker.receiver.broken
        check_leases(self)
        self.check_timers()
        check_places(self)
        return changed

    def _note_timer(self, row: Row, *, is_clean: bool) -> None:
        is_near = row.next_run_ms <= self.now_ms + int(WINDOW_SECONDS * 1000)
        if row.status == "pending" and is_clean and is_near:
            self.owed.add(row.id)
        else:
            self.owed.discard(row.id)

    def _note_line(self, line: Line, *, is_clean: bool) -> None:
        """Of a line only the first job needs a timer."""
        self.owed -= {row.id for row in self.rows.by_id.values() if line_of(self, row) == line}
        first = first_of(self, line)
        if first is not None:
            self._note_timer(first, is_clean=is_clean)
            if first.status == "dead":
                self.met.note(Sometimes.HELD_UP)

    def check_timers(self) -> None:
        """Raises Broken where a timer is not there that has to be, or would fire late."""
        self.fires_ms.clear()
        for row, at_ms in self.timers(self.rows.by_id[job_id] for job_id in sorted(self.owed)):
            self.fires_ms[row.id] = at_ms
            if at_ms is None:
                raise Broken(f"its timer is gone: {self.name(row.id)}")
            # A claim that could not take the row comes again a moment later.
            if at_ms > max(row.next_run_ms, self.now_ms + 2000):
                raise Broken(f"its timer fires late: {self.name(row.id)} by {at_ms - row.next_run_ms} ms")

    def timers(self, rows: Iterable[Row]) -> list[tuple[Row, int | None]]:
        """Rows, and when their timers fire: 0 where a consumer has it, None where there is none."""
        by_queue: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            by_queue.setdefault((self.queue(row), row.flow_key), []).append(row)
        return [
            (row, at_ms)
            for (queue, key), group in by_queue.items()
            for row, at_ms in zip(group, self.lane.look(queue, [row.id for row in group], key=key), strict=True)
        ]

    def queue(self, row: Row) -> str:
        """The queue of its timer."""
        biz_type: BizType = self.site.biz_types[row.biz_type_id]
        return biz_type.queue

    def told(self, ids: Iterable[str]) -> str:
        return ", ".join(sorted(self.name(job_id) for job_id in ids)) or "none"

    def begin_operation(self, number: int) -> None:
        """An operation counts what becomes of its jobs from here on."""
        self.operations[number] = Counter()

    def read_tombstones(self) -> None:
        """Learns which biz ids are resolved, where that was asked for."""
        found = list(Tombstone.objects.using(USING).values_list("biz_type_id", "biz_id", "at", "answered_job"))
        self.resolved = {(number, biz_id): round(at.timestamp() * 1000) for number, biz_id, at, _ in found}
        self.answered = {(number, biz_id): str(job_id) for number, biz_id, _, job_id in found if job_id}

    def bar(self, row: Row, why: str, *, allowed: int | None = None) -> None:
        """From here on no callback of the job may begin, but by the lease that is allowed."""
        fact = self.facts[row.id]
        fact.barred, fact.allowed = why, allowed
