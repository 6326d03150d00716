"""Importer: takes in what an export holds. What is there already stays as it is, so a run may be begun again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.utils import timezone

from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.access.keys import record_key
from tasksapp.biz_types import verbs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.definition import definition_of, faults_of
from tasksapp.biz_types.gates import follow
from tasksapp.errors import InvalidExport
from tasksapp.models import UNTIL_RESUMED, ApiKey, BizType, Job, Series, Status, Tenant, error_class
from tasksapp.models.api_key import MOVING
from tasksapp.models.job_keys import PausedKey, Tombstone
from tasksapp.sql.leases import LOST, UNKNOWN
from tasksapp.sql.tombstones import mark_first_tombstones
from tasksapp.timers.arming import arm
from tasksapp.timers.timer import Timer, grouped
from tasksapp.transfer.export_file import ExportFile
from tasksapp.transfer.exporter import CARRIED
from tasksapp.transfer.record import KINDS, Names, row_of
from tasksapp.transfer.transfer_key import TransferKey

#: Rows that one transaction stores.
BATCH_ROWS = 500
#: Rows left out that are named.
NAMED = 20
#: Why biz types are paused: those that were imported and wait for the rest, and those that are on another site now.
IMPORTED, MOVED = "imported: resume it when all of it is here", "moved to another site"


@dataclass(slots=True)
class Imported:
    """What was taken in.

    Args:
        new: by kind, rows that were stored.
        there: by kind, rows that were there already and stayed as they are.
        refused: how many rows were left out.
        named: why, of some of them.
        different: codes of biz types that were there already and are defined otherwise.
    """

    new: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    named: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)

    def refuse(self, why: str) -> None:
        """Notes a row that was left out."""
        self.refused += 1
        if len(self.named) < NAMED:
            self.named.append(why)


#: Kinds of rows that say something about a key.
_MARKS = frozenset({"paused_key", "tombstone", "idempotency_key"})
#: The columns of a pause.
_PAUSE = ("paused_until", "paused_by", "pause_reason")


class Importer:
    """Stores the rows of an export, batch by batch, in its order.

    Args:
        export: what is taken in.
        tenant: whose it becomes.
        key: what the export's secrets are opened with.
        paused: whether what is new waits for :meth:`open`: biz types are paused, and keys refused.
        by: who does it, for the audit.
        using: the database.
    """

    def __init__(
        self, export: ExportFile, tenant: Tenant, *, key: TransferKey, paused: bool, by: Actor, using: str
    ) -> None:
        self._export = export
        self._tenant = tenant
        self._key = key
        self._paused = paused
        self._by = by
        self._using = using
        self._names = Names()
        self.done = Imported()

    def run(self) -> Iterator[int]:
        """Takes all in; gives how many rows each step was about. Raises InvalidExport at a row that cannot be.

        What was stored before such a row stays.
        """
        for kind, records in groupby(self._export.records(), key=lambda numbered: numbered[1]["kind"]):
            batch: list[models.Model] = []
            before = self._count(kind)
            for number, record in records:
                try:
                    batch.append(row_of(record, names=self._names, key=self._key))
                except InvalidExport as error:
                    raise InvalidExport(f"line {number}: {error}") from None
                if len(batch) == BATCH_ROWS:
                    yield self._store(kind, batch)
                    batch = []
            if batch:
                yield self._store(kind, batch)
            if kind in _MARKS:
                self.done.new[kind] = self._count(kind) - before
                self.done.there[kind] = self._export.counts[kind] - self.done.new[kind]

    def open(self) -> None:
        """Lets the biz types and keys that an import paused go to work; no row is stored."""
        prefixes: set[str] = set()
        with transaction.atomic(using=self._using):
            # First: what follows a biz type, such as its gate, follows it as it is then.
            BizType.objects.using(self._using).filter(tenant=self._tenant, moved_to=MOVING).update(moved_to="")
            for _number, record in self._export.records():
                if record["kind"] == "biz_type":
                    self._open(row_of(record, names=self._names, key=self._key))
                elif record["kind"] == "api_key":
                    prefixes.add(record.get("prefix", ""))
            # Others were deleted while it was elsewhere.
            left = ApiKey.objects.using(self._using).filter(tenant=self._tenant).exclude(moved_to="")
            left.exclude(prefix__in=prefixes).delete()
            left.filter(moved_to=MOVING).update(moved_to="")
            transaction.on_commit(biz_type_cache.clear, using=self._using)

    def _open(self, given: Any) -> None:
        rows = BizType.objects.using(self._using).filter(tenant=self._tenant, code=given.code, pause_reason=IMPORTED)
        for stored in rows.select_related("tenant"):
            verbs.edit(_with_values_of(stored, given, _PAUSE), _PAUSE, by=self._by)
            self.done.new["biz_type"] += 1

    def _store(self, kind: str, batch: Sequence[Any]) -> int:
        with transaction.atomic(using=self._using):
            match kind:
                case "biz_type":
                    for biz_type in batch:
                        self._store_biz_type(biz_type)
                case "api_key":
                    for row in batch:
                        self._store_key(row)
                case "series":
                    for series in batch:
                        self._store_series(series)
                case "job":
                    self._store_jobs(batch)
                case _:
                    self._store_marks(kind, batch)
        return len(batch)

    def _store_biz_type(self, given: BizType) -> None:
        """Stores a new one, or one that comes back, and leaves any other."""
        rows = BizType.objects.using(self._using).filter(tenant=self._tenant, code=given.code)
        stored = rows.select_related("tenant").first()
        if stored is not None and self._paused and stored.pause_reason not in {IMPORTED, MOVED}:
            raise InvalidExport(f"biz type {given.code!r} is here already, and at work")
        if stored is not None and stored.pause_reason != MOVED:
            self.done.there["biz_type"] += 1
            if definition_of(stored) != definition_of(given):
                self.done.different.append(given.code)
            self._names.add_biz_type(stored)
            return
        given.tenant, given._state.db = self._tenant, self._using
        if faults := faults_of(given):
            raise InvalidExport(f"biz type {given.code!r}: {'; '.join(fault.message for fault in faults)}")
        if self._paused:
            given.paused_until, given.paused_by, given.pause_reason = UNTIL_RESUMED, self._by.name, IMPORTED
        if stored is None:
            verbs.add(given, by=self._by, within_quota=False)
        else:
            columns = [column.name for column in KINDS["biz_type"].columns if column.name != "code"]
            given = _with_values_of(stored, given, columns)
            verbs.edit(given, columns, by=self._by)
        rows.update(moved_to=MOVING if self._paused else "")
        self.done.new["biz_type"] += 1
        self._names.add_biz_type(given)

    def _store_key(self, given: ApiKey) -> None:
        keys = ApiKey.objects.using(self._using)
        same = keys.filter(prefix=given.prefix, hashed_key=given.hashed_key, tenant=self._tenant).first()
        if same is not None and not same.moved_to:
            self.done.there["api_key"] += 1
            return
        others = keys.all() if same is None else keys.exclude(pk=same.pk)
        # It comes back from the site that it had moved to, where it may have been changed, renamed or rotated.
        others.filter(tenant=self._tenant, name=given.name).exclude(moved_to="").delete()
        if others.filter(Q(prefix=given.prefix) | Q(tenant=self._tenant, name=given.name)).exists():
            self.done.refuse(f"API key {given.name!r}: there is another one of that name, or with that prefix")
            return
        if same is not None:
            columns = {column.attname: getattr(given, column.attname) for column in KINDS["api_key"].columns}
            keys.filter(pk=same.pk).update(**columns, moved_to=MOVING if self._paused else "")
            self.done.there["api_key"] += 1
            return
        given.tenant, given.moved_to = self._tenant, MOVING if self._paused else ""
        given.save(using=self._using, force_insert=True)
        record_key(Deed.ISSUE_KEY, given, by=self._by, after={"scopes": given.scopes})
        self.done.new["api_key"] += 1

    def _store_series(self, given: Series) -> None:
        stored = Series.objects.using(self._using).filter(biz_type=given.biz_type_id, name=given.name).first()
        if stored is None:
            given.save(using=self._using, force_insert=True)
        self.done.new["series"] += stored is None
        self.done.there["series"] += stored is not None
        self._names.add_series(stored or given)

    def _store_marks(self, kind: str, batch: Sequence[Any]) -> None:
        """Rows that say something about a key; of two about one key the first counts."""
        type(batch[0])._default_manager.using(self._using).bulk_create(batch, ignore_conflicts=True)
        if isinstance(batch[0], Tombstone):
            mark_first_tombstones({row.biz_type_id for row in batch}, using=self._using)
        if isinstance(batch[0], PausedKey):
            for number in {row.biz_type_id for row in batch}:
                follow(self._names.biz_types[self._names.codes[number]], using=self._using)

    def _count(self, kind: str) -> int:
        """Rows of marks that the tenant's biz types have: once for each kind, since there may be many."""
        if kind not in _MARKS:
            return 0
        rows = KINDS[kind].model._default_manager.using(self._using)
        return rows.filter(biz_type__in=list(self._names.codes)).count()

    def _store_jobs(self, batch: Sequence[Job]) -> None:
        there = self._owners(batch)
        new: list[Job] = []
        for job in batch:
            if job.id not in there:
                new.append(self._as_taken_in(job))
            elif there[job.id] == job.biz_type_id:
                self.done.there["job"] += 1
            else:
                self.done.refuse(f"job {job.id}: a job of another biz type has that id")
        stored = self._insert(new)
        self.done.new["job"] += len(stored)
        biz_types = {biz_type.pk: biz_type for biz_type in self._names.biz_types.values()}
        timers = [Timer.of(job, biz_types[job.biz_type_id]) for job in stored if job.status == Status.PENDING]
        transaction.on_commit(partial(arm, grouped(timers)), using=self._using)

    def _owners(self, batch: Sequence[Job]) -> dict[Any, int]:
        rows = Job.objects.using(self._using).filter(id__in=[job.id for job in batch])
        return dict(rows.values_list("id", "biz_type_id"))

    def _insert(self, batch: Sequence[Job]) -> list[Job]:
        """Those that were stored; of each other one it is noted why not."""
        try:
            with transaction.atomic(using=self._using):
                return Job.objects.using(self._using).bulk_create(batch)
        except IntegrityError:
            if len(batch) > 1:
                return [job for each in batch for job in self._insert([each])]
            said = "another live job has its biz id, its debounce key or its place in the series"
            self.done.refuse(f"job {batch[0].id}: {said}")
            return []

    def _as_taken_in(self, job: Job) -> Job:
        """The job as it begins here. One that ran when it was exported is tried again, unless that is not allowed."""
        if job.status not in CARRIED:
            raise InvalidExport(f"job {job.id} is {job.status!r:.20}, and only those that have not ended are carried")
        if job.status == Status.RUNNING:
            biz_type = self._names.biz_types[self._names.codes[job.biz_type_id]]
            job.status, job.last_error, job.error_class = Status.PENDING, LOST, error_class.LOST
            if biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE:
                job.status, job.last_error, job.finished_at = Status.DEAD, UNKNOWN, timezone.now()
        return job


def _with_values_of(stored: BizType, given: BizType, columns: Iterable[str]) -> BizType:
    for name in columns:
        setattr(stored, name, getattr(given, name))
    return stored
