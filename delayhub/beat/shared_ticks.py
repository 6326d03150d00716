"""SharedTicks: how a scheduler of Celery's becomes one of many that publish each occurrence once; and Scheduler."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any
from uuid import uuid4

import redis
from celery.beat import PersistentScheduler, SchedulingError, event_t
from celery.beat import Scheduler as CeleryScheduler
from celery.schedules import crontab, schedstate
from celery.utils.log import get_logger
from kombu.exceptions import OperationalError

from delayhub.beat.definition import Bounds, Definition, Missed
from delayhub.beat.left_out import LeftOut
from delayhub.beat.tended_entries import Standing, TendedEntries
from delayhub.clock import SystemClock, moment
from delayhub.engine.occurrences import Occurrence
from delayhub.errors import OccurrenceTaken, OptionError
from delayhub.redis_cluster import client_of
from delayhub.transport.broker_pool import broker_channel
from delayhub.transport.occurrence import OCCURRENCE_HEADER, nominal_time, publishing
from delayhub.transport.options import ANSWER_SECONDS, TransportOptions

logger = get_logger(__name__)

#: The header of an entry that says what becomes of its missed occurrences; else the setting ``beat_missed``.
MISSED_HEADER = "x-delayhub-missed"
#: How often a beat looks where all entries stand.
LOOK_MS = 5_000
#: How soon it tries again after Redis did not answer.
AWAY_SECONDS = 1.0
#: What a publish raises then.
AWAY = (redis.RedisError, OperationalError, OSError)


class SharedTicks:
    """A mixin for schedulers of Celery's; its ``tick`` publishes what Redis leaves to this beat."""

    app: Any
    max_interval: Any
    schedule: Any
    #: An interval that is shorter is left out.
    shortest_ms = 1

    def __init__(self, app: Any, *args: Any, **options: Any) -> None:
        self._tended: TendedEntries | None = None
        self._looked_at: Any = None
        self._look_again_ms = 0
        self._is_away = False
        self._heap: list[event_t] | None = None
        #: What this tick publishes, the error that kept it from being published, and how long beat sleeps then.
        self._claimed: tuple[Standing, Occurrence] | None = None
        self._failure: Exception | None = None
        self._sleep_seconds = 0.0
        #: What was logged of each entry.
        self._warned: dict[str, str] = {}
        self._beat = f"{socket.gethostname()}/{os.getpid()}/{uuid4().hex[:8]}"
        if not options.get("lazy"):
            Missed.of(app.conf.get("beat_missed", Missed.ONCE))
            self._check_broker(app)
        super().__init__(app, *args, **options)  # type: ignore[call-arg]  # it is a mixin of schedulers

    def tick(self, *args: Any, **options: Any) -> float:
        """Publish an occurrence that is due, if it is this beat's; return how many seconds to sleep then."""
        self._heap = None  # so that Celery's own tick, which tracing libraries replace, asks populate_heap()
        try:
            super().tick(*args, **options)  # type: ignore[misc]  # it is a mixin of schedulers
        except AWAY as error:
            if not self._is_away:
                logger.error("beat: the broker does not answer: %s", error, extra={"action": "beat"})  # noqa: TRY400  no traceback: it is the network
            self._is_away = True
            return AWAY_SECONDS
        if self._is_away:
            logger.info("beat: the broker answers again", extra={"action": "beat"})
            self._is_away = False
        return self._sleep_seconds

    def close(self) -> None:
        """Releases the connections."""
        tended, self._tended = self._tended, None
        if tended is not None:
            tended.client.connection_pool.disconnect()
        super().close()  # type: ignore[misc]  # it is a mixin of schedulers

    # ------------------------------------------------------------ what Celery's tick calls

    def populate_heap(self, *args: Any, **options: Any) -> None:
        """Put the occurrence that this beat has claimed, if there is one, where Celery's tick takes it from."""
        del args, options
        self._heap = []
        self._claimed, self._sleep_seconds = self._claim_due()
        if self._claimed is not None:
            standing, occurrence = self._claimed
            try:
                self._heap = [event_t(0, 0, due_entry(self.app, standing.definition.entry, occurrence))]
            except Exception:
                logger.exception("Message Error: %s was not sent", standing.definition.name)
                self._tending().skip(standing, occurrence)

    def is_due(self, entry: Any) -> schedstate:
        """Return that an entry is due: only a claimed occurrence gets here."""
        del entry
        return schedstate(is_due=True, next=0)

    def reserve(self, entry: Any) -> Any:
        """Return the entry as it is: Redis counts its runs."""
        return entry

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Publish the claimed occurrence by Celery's own method, which tracing libraries replace, and move on."""
        assert self._claimed is not None
        standing, occurrence = self._claimed
        self._failure = None
        with publishing(occurrence):
            super().apply_entry(entry, producer=producer)  # type: ignore[misc]  # it is a mixin of schedulers
        self._settle(self._tending(), standing, occurrence)

    def apply_async(self, entry: Any, producer: Any = None, advance: bool = True, **options: Any) -> Any:
        """Publish an entry; keep the error, which Celery's ``apply_entry`` logs and drops."""
        try:
            return super().apply_async(entry, producer=producer, advance=advance, **options)  # type: ignore[misc]  # likewise
        except SchedulingError as error:
            cause = error.__context__
            self._failure = cause if isinstance(cause, Exception) else error
            if isinstance(self._failure, (OccurrenceTaken, *AWAY)):  # not worth a traceback
                return None
            raise

    # ------------------------------------------------------------ what a table adds

    def bounds_of(self, entry: Any) -> Bounds:
        """What is known of an entry beside its schedule."""
        del entry
        return Bounds()

    def note_published(self, standing: Standing, occurrence: Occurrence) -> None:
        """Called by the beat that has published an occurrence, and by no other."""

    def note_looked(self) -> None:
        """Called when this beat has learned where its entries stand."""

    # ------------------------------------------------------------ a turn

    def _claim_due(self) -> tuple[tuple[Standing, Occurrence] | None, float]:
        """Return an occurrence that is due and this beat's, if there is one; and how many seconds to sleep then."""
        tended, entries = self._tending(), self.schedule
        if entries is not self._looked_at or tended.now_ms() >= self._look_again_ms:
            self._look(tended, entries)
        first = tended.first()
        until = min(first.next_ms, self._look_again_ms) if first is not None else self._look_again_ms
        now = tended.now_ms()
        if first is None or until > now:
            return None, min(max(until - now, 1) / 1000, float(self.max_interval))
        try:
            occurrence = tended.claim(first) if first.next_ms <= now else None
        except AWAY:
            raise
        except Exception:  # of one entry: the others go on
            logger.exception("beat: what %s has missed cannot be reckoned", first.definition.name)
            tended.wait(first, milliseconds=LOOK_MS)
            return None, 0.0
        return (None if occurrence is None else (first, occurrence)), 0.0

    def _look(self, tended: TendedEntries, entries: Any) -> None:
        tended.look([self._definition(entry) for entry in list(entries.values())])
        self._looked_at, self._look_again_ms = entries, tended.now_ms() + LOOK_MS
        for standing in tended.standing.values():
            show_state(standing)
        self.note_looked()

    def _settle(self, tended: TendedEntries, standing: Standing, occurrence: Occurrence) -> None:
        error = self._failure
        if isinstance(error, OccurrenceTaken):
            logger.info("%s", error, extra={"action": "beat"})
            tended.wait(standing)
            return
        if not occurrence.is_over and isinstance(error, AWAY):
            tended.wait(standing, milliseconds=int(AWAY_SECONDS * 1000))
            raise error
        if occurrence.is_over or (error is None and tended.settle(occurrence)):  # settled: an eager task, for example
            tended.move_on(standing, occurrence)
            show_state(standing)
            self.note_published(standing, occurrence)
        elif error is not None:  # as in Celery: the next occurrence may be luckier
            tended.skip(standing, occurrence)

    def _definition(self, entry: Any) -> Definition:
        """Return the entry's definition; that of what is left out, with the reason, if it cannot be published."""
        try:
            if not isinstance(entry, LeftOut):
                made = self._defined(entry)
                made.check(now_ms=SystemClock().now_ms(), shortest_ms=self.shortest_ms)
                self._warn(entry.name, made.doubt)
                return made
        except Exception as error:
            entry = LeftOut.of(entry.name, error, task=entry.task)
        self._warn(entry.name, f"it is left out: {entry.schedule.reason}")
        return Definition(entry=entry, lane=lane_of(self.app, entry), zone=self.app.timezone, program=self._program)

    def _warn(self, name: str, text: str) -> None:
        """Log what is wrong with an entry, once as long as it is the same; '' for nothing."""
        if text and self._warned.get(name) != text:
            logger.warning("The entry %s: %s", name, text, extra={"action": "beat"})
        self._warned[name] = text

    def _defined(self, entry: Any) -> Definition:
        conf = self.app.conf
        deadline = conf.beat_cron_starting_deadline if isinstance(entry.schedule, crontab) else None
        headers = (entry.options or {}).get("headers") or {}
        return Definition(
            entry=entry,
            lane=lane_of(self.app, entry),
            zone=self.app.timezone,
            program=self._program,
            policy=Missed.of(headers.get(MISSED_HEADER) or conf.get("beat_missed", Missed.ONCE)),
            deadline_ms=None if deadline is None else round(deadline * 1000),
            bounds=self.bounds_of(entry),
        )

    @property
    def _program(self) -> str:
        return self.app.main or ""

    def _tending(self) -> TendedEntries:
        if self._tended is None:
            connection = self.app.connection_for_write()
            pool = broker_channel(connection, timeout_seconds=ANSWER_SECONDS).pool
            prefix = TransportOptions.of(connection.transport_options or {}).key_prefix
            client = client_of(pool)
            self._tended = TendedEntries(client, key_prefix=prefix, beat=self._beat, clock=SystemClock())
        return self._tended

    def _check_broker(self, app: Any) -> None:
        scheme = str(app.connection_for_write().transport_cls)
        if not scheme.startswith("delayhub"):
            raise OptionError(
                f"{type(self).__qualname__} keeps its schedule in a broker of DelayHub's, and the app's is {scheme}://:"
                " set broker_url to delayhub://…, or beat_scheduler to another class"
            )


def due_entry(app: Any, entry: Any, occurrence: Occurrence) -> Any:
    """The entry as it is published: with the time that it stands for, from which ``expires`` counts."""
    task = app.tasks.get(entry.task)
    options = dict(entry.options or {})
    options["headers"] = {**(options.get("headers") or {}), OCCURRENCE_HEADER: nominal_time(occurrence)}
    expires = options.get("expires", getattr(task, "expires", None))
    if isinstance(expires, int | float):
        options["expires"] = moment(occurrence.nominal_ms + round(expires * 1000))
    due = object.__new__(type(entry))  # not copied: entries of tables are made from their row
    vars(due).update(vars(entry), options=options)
    return due


def show_state(standing: Standing) -> None:
    """Celery's own fields of an entry, from what Redis knows."""
    entry, known = standing.definition.entry, standing.known
    if known.last:
        entry.last_run_at = moment(known.last)
    entry.total_run_count = known.count


def lane_of(app: Any, entry: Any) -> str:
    """The queue that the entry's message goes to, or the default queue where there are several, or none of ours.

    A wrong guess costs nothing but the one script: see :func:`delayhub.transport.occurrence.put`.
    """
    task = app.tasks.get(entry.task)
    options = {**(task._get_exec_options() if task is not None else {}), **entry.options}
    options = {name: options[name] for name in ("queue", "exchange", "routing_key") if options.get(name) is not None}
    try:
        routed = app.amqp.router.route(options, entry.task, entry.args, entry.kwargs, task)
    except Exception:
        routed = options
    queue, exchange, key = routed.get("queue"), routed.get("exchange"), routed.get("routing_key")
    if exchange:  # which counts, also beside a queue
        bound = [name for name, known in app.amqp.queues.items() if _is_bound(known, exchange, key)]
        return bound[0] if len(bound) == 1 else str(app.conf.task_default_queue)
    if exchange == "" and key:
        return str(key)
    return str(getattr(queue, "name", queue) or app.conf.task_default_queue)


def _is_bound(queue: Any, exchange: Any, key: str | None) -> bool:
    name = getattr(exchange, "name", exchange)
    return queue.exchange is not None and queue.exchange.name == name and queue.routing_key == key


class Scheduler(SharedTicks, CeleryScheduler):
    """A scheduler that keeps its state in the broker, beside the queues that it publishes to."""

    def __init__(self, app: Any, *args: Any, schedule_filename: str | None = None, **options: Any) -> None:
        self.schedule_filename = schedule_filename
        super().__init__(app, *args, **options)

    def setup_schedule(self) -> None:
        """Reads the app's schedule."""
        self.merge_inplace(self.app.conf.beat_schedule)
        self.install_default_entries(self.schedule)
        if left := schedule_file(self.schedule_filename):
            logger.info("beat: %s is ignored: the schedule's state is in the broker", left, extra={"action": "beat"})

    @property
    def info(self) -> str:
        """A line of beat's banner."""
        return "    . state -> in the broker, shared by all beats"


def schedule_file(name: str | None) -> str | None:
    """The file of Celery's own scheduler, where there is one."""
    suffixes = PersistentScheduler.known_suffixes
    return next((name + suffix for suffix in suffixes if Path(name + suffix).is_file()), None) if name else None
