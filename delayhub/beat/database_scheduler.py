"""DatabaseScheduler: the tables of django-celery-beat, for any number of beats."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from celery.schedules import maybe_schedule
from celery.utils.log import get_logger
from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.db.models import F
from django.utils import timezone
from django_celery_beat.schedulers import DatabaseScheduler as TableScheduler
from django_celery_beat.schedulers import ModelEntry
from kombu.utils.json import dumps

from delayhub.beat.definition import Bounds
from delayhub.beat.left_out import LeftOut, Unfit
from delayhub.beat.shared_ticks import SharedTicks
from delayhub.beat.tended_entries import Standing
from delayhub.clock import moment, runnable_ms
from delayhub.engine.occurrences import Occurrence

logger = get_logger(__name__)


class DatabaseScheduler(SharedTicks, TableScheduler):
    """django-celery-beat's scheduler, of which any number may run; its tables, admin pages and models stay as they are.

    What ran when is known in Redis; ``last_run_at`` and ``total_run_count`` of a row are written by the beat that has
    published, and by no other.
    """

    #: A row with an interval of 0 would publish a thousand messages a second.
    shortest_ms = 1_000

    def __init__(self, app: Any, *args: Any, **options: Any) -> None:
        #: When each row was edited and when it ran, in ms, as it was read: django-celery-beat's entries change theirs.
        self._read: dict[str, tuple[int, int]] = {}
        super().__init__(app, *args, **options)

    @property
    def info(self) -> str:
        """A line of beat's banner."""
        return "    . state -> in the broker, shared by all beats; entries in the database"

    # ------------------------------------------------------------ reading tables

    def all_as_schedule(self) -> dict[str, Any]:
        """Every enabled row; django-celery-beat leaves out those that are not due soon, also where they were missed."""
        found: dict[str, Any] = {}
        self._read = {}
        for name, model in self._rows():
            try:
                read = in_ms(model.date_changed), in_ms(model.last_run_at, zone=UTC)
                found[name] = self._entry(model)
                self._read[name] = read
            except (DatabaseError, InterfaceError):
                raise
            except Exception as error:
                about = model if isinstance(model, Exception) else error
                found[name] = LeftOut.of(name, about, task=getattr(model, "task", ""))
        return found

    def _rows(self) -> list[tuple[str, Any]]:
        """The names of enabled rows, and the rows; in the place of one that cannot be read, the error."""
        rows = self.Model.objects.enabled()
        try:
            return [(model.name, model) for model in rows]
        except (DatabaseError, InterfaceError):
            raise
        except Exception:  # a value that one of their fields refuses, such as an unknown time zone
            return [(name, self._row(key)) for key, name in rows.values_list("pk", "name")]

    def _row(self, key: Any) -> Any:
        try:
            return self.Model.objects.enabled().get(pk=key)
        except (DatabaseError, InterfaceError):
            raise
        except Exception as error:
            return error

    def _entry(self, model: Any) -> Any:
        """Return the row's entry; raise whatever is wrong with it.

        Times without a zone are in Django's, as the admin shows them. Celery would read them in UTC.
        """
        if not (model.interval or model.crontab or model.solar or model.clocked):
            raise Unfit("it has no schedule")
        entry = self.Entry(model, app=self.app)
        if not model.enabled:
            raise Unfit("its arguments are no JSON: django-celery-beat has disabled it")
        if model.clocked is not None:
            entry.schedule.clocked_time = aware(model.clocked.clocked_time)
        if isinstance(entry.options.get("expires"), datetime):
            entry.options["expires"] = aware(entry.options["expires"])
        return entry

    def bounds_of(self, entry: Any) -> Bounds:
        """What its row says beside the schedule."""
        model = getattr(entry, "model", None)
        if model is None:
            return Bounds()
        edited, ran = self._read.get(entry.name, (0, 0))
        return Bounds(
            starts_ms=in_ms(model.start_time),
            ends_ms=in_ms(model.expires),
            edited_ms=edited,
            last_ms=ran,
            runs_once=bool(model.one_off),
        )

    # ------------------------------------------------------------ writing tables

    def note_published(self, standing: Standing, occurrence: Occurrence) -> None:
        """Writes down in its row that an entry has run."""
        model = standing.definition.entry.model
        if standing.definition.bounds.runs_once:
            self._end(standing)
            return
        rows = self.Model.objects.filter(pk=model.pk)
        self._write(
            rows, last_run_at=for_table(moment(occurrence.nominal_ms)), total_run_count=F("total_run_count") + 1
        )

    def note_looked(self) -> None:
        """Ends the rows of entries that ran once, or whose time is over, also where a beat was killed before it did."""
        tended = self._tended
        assert tended is not None
        now = tended.now_ms()
        for standing in list(tended.standing.values()):
            bounds = standing.definition.bounds
            has_ended = 0 < bounds.ends_ms <= now and not standing.known.next
            if has_ended or (bounds.runs_once and standing.known.ran):
                self._end(standing)

    def _end(self, standing: Standing) -> None:
        """Disables a row as it was read; one that was changed meanwhile, or is enabled again, is another edition."""
        model = standing.definition.entry.model
        rows = self.Model.objects.filter(pk=model.pk, enabled=True, date_changed=model.date_changed)
        # A new time of change, since the actions of the admin enable rows without one.
        if self._write(rows, enabled=False, last_run_at=None, total_run_count=0, date_changed=timezone.now()):
            logger.info("%s has ended, and is disabled", model.name, extra={"action": "beat"})
            self.Changes.update_changed()

    def _write(self, rows: Any, **values: Any) -> int:
        try:
            close_old_connections()
            return int(rows.update(**values))
        except (DatabaseError, InterfaceError):
            logger.exception("beat: the row of a periodic task was not written", extra={"action": "beat"})
            return 0

    def update_from_dict(self, mapping: Mapping[str, Mapping[str, Any]]) -> None:
        """Writes entries of ``beat_schedule`` that are new or changed; those that are equal stay untouched."""
        changed = {name: fields for name, fields in mapping.items() if not self._is_written(name, fields)}
        super().update_from_dict(changed)

    def _is_written(self, name: str, fields: Mapping[str, Any]) -> bool:
        model = self.Model.objects.filter(name=name).first()
        if model is None:
            return False
        try:
            wanted = columns(fields, app=self.app)
        except Exception:
            return False
        return all(getattr(model, column) == value for column, value in wanted.items())


def columns(fields: Mapping[str, Any], *, app: Any) -> dict[str, Any]:
    """What a row has to have for an entry of ``beat_schedule``; nothing is stored.

    Raises:
        LookupError: its schedule has no row yet.
    """
    schedule = maybe_schedule(fields["schedule"], app=app)
    unpacked = {"schedule", "args", "kwargs", "relative", "options"}
    others = {name: value for name, value in fields.items() if name not in unpacked}
    wanted = {f"{field}_id": None for _, _, field in ModelEntry.model_schedules}
    for kind, model_kind, field in ModelEntry.model_schedules:
        if isinstance(schedule, kind):
            row = model_kind.from_schedule(schedule)
            if row.pk is None:
                raise LookupError(f"no row for {schedule!r}")
            wanted[f"{field}_id"] = row.pk
            break
    options = ModelEntry._unpack_options(**(fields.get("options") or {}))
    return {
        **others,
        **wanted,
        **options,
        "args": dumps(fields.get("args") or []),
        "kwargs": dumps(fields.get("kwargs") or {}),
    }


def in_ms(time: datetime | None, *, zone: tzinfo | None = None) -> int:
    """A time of a table in Unix ms, 0 for none; one without a zone (``USE_TZ = False``) is in ``zone``, or Django's."""
    return 0 if time is None else max(1, runnable_ms(aware(time, zone=zone)))


def aware(time: datetime, *, zone: tzinfo | None = None) -> datetime:
    """Return the time with a time zone: its own, else ``zone``, else Django's."""
    return timezone.make_aware(time, zone) if timezone.is_naive(time) else time


def for_table(time: datetime) -> datetime:
    """The time of a run as django-celery-beat keeps it."""
    return time if settings.USE_TZ else time.replace(tzinfo=None)
