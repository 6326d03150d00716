"""Verbs: what a person or a program may do to a series. Each locks its row; its jobs follow in the same transaction.

Occurrences that no worker has taken are deleted or rewritten, never cancelled: a cancelled row would hold its place,
and the occurrence would not be made again. What a worker has taken is left as it is, and nothing is made before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import zip_longest
from typing import Any, Protocol, TypedDict, Unpack
from uuid import UUID

from django.db import IntegrityError, router, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.access.quotas import Quota, no_more_jobs, take_one
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.visible import Reach, reach_of, refuse_moving
from tasksapp.errors import InvalidSeries, NameTaken, SeriesNotFound, StaleSeries, UnknownBizType
from tasksapp.jobs.editing import ASKED, edited_bytes
from tasksapp.jobs.flow_order import place_occurrences, wake_keys
from tasksapp.jobs.masking import for_audit
from tasksapp.jobs.own_request_rule import edited_request
from tasksapp.models import BizType, Job, Series, Status
from tasksapp.models.columns import is_code
from tasksapp.models.conflicts import repeated
from tasksapp.models.job_id import new_job_ids
from tasksapp.models.sealable import stored
from tasksapp.series.fields import CONTENT, OF_BIZ_TYPE, RULES, SCHEDULE, check, check_with_biz_type, values_of
from tasksapp.series.lookup import seen
from tasksapp.series.maker import lock_for_writing, make, new_job, rewrite, timers_of
from tasksapp.series.plan import first_occurrence
from tasksapp.sql.answers import end_links
from tasksapp.sql.occurrences import NewOccurrence, delete_unclaimed, insert_occurrences, unclaimed
from tasksapp.sql.ordered_keys import give_places
from tasksapp.timers.arming import arm, forget, move
from tasksapp.timers.timer import Timer

#: Columns that an entry of the audit about a new series leaves out.
_OWN = frozenset({"id", "created_at", "updated_at", "made", "next_occurrence_at", "make_at", "biz_type_id"})
#: Columns that an entry about a pause says before and after.
_STATE = ("paused_at", "pause_reason")


class Which(TypedDict, total=False):
    """Which row a verb is about, beside its number.

    Args:
        version: the version that the caller saw; None for any.
        seen_by: the caller of the API, who must see the series; None for people, who see all.
        using: the database.
    """

    version: int | None
    seen_by: object
    using: str | None


@repeated
def create(
    biz_type: str,
    *,
    tenant: str | None = None,
    seen_by: object = None,
    using: str | None = None,
    by: Actor | None = None,
    declared_by: str = "",
    **fields: Any,
) -> Series:
    """A new series, with its next occurrence made.

    Args:
        biz_type: the code of its biz type.
        tenant: the code of the tenant whose biz type it is; None for the default one.
        seen_by: the caller of the API whose tenant and biz types count, in the place of ``tenant``.
        using: the database.
        by: who makes it, for the audit; None for the project's own code.
        declared_by: the task whose decorator declares it.
        fields: those of ``tasksapp.series.fields.RULES``: a name, one of ``cron``, ``every`` and ``times``, and others;
            ``raw`` and ``content_type`` are exact bytes in the place of ``body``.

    Raises UnknownBizType, InvalidSeries, InvalidJob, UnknownTenant, QuotaUsedUp or NameTaken.
    """
    using = using or router.db_for_write(Series)
    now = timezone.now()
    if fields.get("name") is None:
        raise InvalidSeries("name", "required", _("name is required"))
    of_biz_type = {name: fields.pop(name) for name in OF_BIZ_TYPE if fields.get(name) is not None}
    reach = reach_of(seen_by, tenant=tenant, using=using)
    row = Series(declared_by=declared_by, created_at=now, updated_at=now, changed_by=by.name if by else "")
    values = values_of({name: value for name, value in fields.items() if name not in OF_BIZ_TYPE})
    for name, value in values.items():
        setattr(row, name, value)
    check(row, now=now)
    row.biz_type = _biz_type(biz_type, reach, using=using)
    check_with_biz_type(row, values)
    for name, value in _content_of(row, values, of_biz_type).items():
        setattr(row, name, value)
    try:
        with transaction.atomic(using=using):
            take_one(Quota.SERIES, tenant_id=row.biz_type.tenant_id, using=using)
            row.next_occurrence_at = first_occurrence(row, after=now)
            row.make_at = now if row.next_occurrence_at else None
            if row.biz_type.encrypted:
                row.seal()
            row.save(using=using, force_insert=True)
            _record(Deed.ADD_SERIES, row, by=by, after=_given(row), using=using)
            _make(row, now=now, using=using)
    except IntegrityError as error:
        raise NameTaken(row.name) from error
    return _read(row.pk, using=using)


@repeated
def change(
    series_id: int,
    *,
    version: int | None = None,
    seen_by: object = None,
    using: str | None = None,
    by: Actor | None = None,
    reason: str = "",
    **fields: Any,
) -> Series:
    """The series with the fields that are given, and no others, changed.

    Another schedule deletes the occurrences to come that no worker has taken and makes new ones. Other content rewrites
    those that no worker has taken, also overdue ones.

    Raises SeriesNotFound, StaleSeries, InvalidSeries, InvalidJob or NameTaken.
    """
    of_biz_type = {name: fields.pop(name) for name in OF_BIZ_TYPE if name in fields}
    values = values_of(fields)
    columns = {*values, *(("request", "raw", "body") if of_biz_type or "body" in values else ())}

    def edit(row: Series, *, now: datetime, using: str) -> bool:
        values.update(_content_of(row, values, of_biz_type))
        before, seals = {name: getattr(row, name) for name in values}, row.is_sealed or row.biz_type.encrypted
        for name, value in values.items():
            setattr(row, name, value)
        check(row, now=now)
        changed = {name for name in values if getattr(row, name) != before[name]}
        check_with_biz_type(row, changed)
        if seals and changed:
            row.seal()
        if changed & set(CONTENT):
            _rewrite(row, asks=bool(changed & ASKED), now=now, using=using)
        if changed & set(SCHEDULE) and not row.is_paused:
            _unmake(row, now=now, using=using)
            _aim(row, now=now, using=using)
        return bool(changed)

    which = Which(version=version, seen_by=seen_by, using=using)
    try:
        return _altered(series_id, Deed.EDIT_SERIES, edit, columns=columns, by=by, reason=reason, **which)
    except IntegrityError as error:
        raise NameTaken(str(values.get("name"))) from error


@repeated
def pause(series_id: int, *, reason: str = "", by: Actor | None = None, **which: Unpack[Which]) -> Series:
    """Holds the series until it is resumed: occurrences to come are deleted, and what is due or runs goes on.

    Raises SeriesNotFound or StaleSeries.
    """

    def hold(row: Series, *, now: datetime, using: str) -> bool:
        row.paused_at = row.paused_at or now
        row.paused_by, row.pause_reason = (by.name if by else ""), reason[: audit.REASON_LENGTH]
        _unmake(row, now=now, using=using)
        row.next_occurrence_at = row.make_at = None
        return True

    return _altered(series_id, Deed.PAUSE_SERIES, hold, columns=_STATE, by=by, reason=reason, **which)


@repeated
def resume(series_id: int, *, reason: str = "", by: Actor | None = None, **which: Unpack[Which]) -> Series:
    """Lets a paused series go on with its next occurrence; nothing of the time of its pause is caught up.

    Raises SeriesNotFound or StaleSeries.
    """

    def let_go(row: Series, *, now: datetime, using: str) -> bool:
        if not row.is_paused:
            return False
        row.paused_at, row.paused_by, row.pause_reason = None, "", ""
        _aim(row, now=now, using=using)
        return True

    return _altered(series_id, Deed.RESUME_SERIES, let_go, columns=_STATE, by=by, reason=reason, **which)


@repeated
def trigger(
    series_id: int, *, seen_by: object = None, using: str | None = None, by: Actor | None = None, reason: str = ""
) -> UUID:
    """The id of a job of the series that is due now, beside its occurrences; also of one that is paused.

    Raises SeriesNotFound, QuotaUsedUp, or InvalidSeries where the biz type is disabled.
    """
    now = timezone.now()
    with _locked(series_id, seen_by=seen_by, using=using) as (row, database):
        biz_type = row.biz_type
        if not biz_type.enabled:
            text = _("the biz type %(code)s is disabled") % {"code": biz_type.code}
            raise InvalidSeries("biz_type", "disabled", text)
        if full := no_more_jobs(biz_type.tenant):
            raise full
        (job_id,) = new_job_ids(1)
        job = new_job(row, biz_type, job_id=job_id, due_at=now)
        created_by = by.name if by else ""
        rows, biz_types = [NewOccurrence(job, row.pk, None)], {biz_type.pk: biz_type}
        rows = place_occurrences(rows, biz_types, delayed=True, now=now, using=database)
        insert_occurrences(rows, now=now, created_by=created_by, using=database)
        _record(Deed.TRIGGER_SERIES, row, by=by, job_id=job_id, reason=reason, using=database)
        timers = timers_of(rows, biz_types)

        def set_timer() -> None:
            arm(timers)

        transaction.on_commit(set_timer, using=database, robust=True)
    return job_id


@repeated
def delete(series_id: int, *, by: Actor | None = None, reason: str = "", **which: Unpack[Which]) -> None:
    """Deletes the series and those of its occurrences that no worker has taken; the others stay.

    Raises SeriesNotFound or StaleSeries.
    """
    with _locked(series_id, **which) as (row, database):
        _unmake(row, now=None, using=database)
        _record(Deed.DELETE_SERIES, row, by=by, reason=reason, using=database)
        Series.objects.using(database).filter(pk=row.pk).delete()


def _content_of(row: Series, values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of what is checked with the series' biz type. Raises InvalidJob."""
    found: dict[str, Any] = {}
    if "request" in given:
        own = edited_request(RULES["request"], given["request"], stored=row.request, biz_type=row.biz_type)
        found["request"] = own
    of_bytes = {name: given[name] for name in ("raw", "content_type") if name in given}
    return found | edited_bytes(row, {**values, **found}, **of_bytes)


def _biz_type(code: Any, reach: Reach, *, using: str) -> BizType:
    found = None
    if isinstance(code, str) and is_code(code):
        found = biz_type_cache.find({code}, tenant_id=reach.tenant_id, using=using).get(code)
    if found is None or not reach.has(found):
        raise UnknownBizType(code)
    refuse_moving(found)
    return found


@contextmanager
def _locked(
    series_id: int, *, version: int | None = None, seen_by: object = None, using: str | None = None
) -> Iterator[tuple[Series, str]]:
    """The series, which only the caller's transaction can change until that ends, and its database."""
    using = using or router.db_for_write(Series)
    with transaction.atomic(using=using):
        lock_for_writing(using=using)
        row = seen(seen_by, using=using).select_for_update(no_key=True, of=("self",)).filter(pk=series_id).first()
        if row is None:
            raise SeriesNotFound(f"there is no series {series_id}")
        if version is not None and row.version != version:
            raise StaleSeries(row.pk, asked=version, version=row.version)
        refuse_moving(row.biz_type)
        yield row, using


def _unmake(row: Series, *, now: datetime | None, using: str) -> None:
    """Deletes the unclaimed occurrences after that moment, or all of them."""
    rows = unclaimed([row.pk], using=using)
    gone = delete_unclaimed(rows if now is None else rows.filter(occurrence_at__gt=now))
    row.made = max(0, row.made - len(gone))
    biz_type = row.biz_type
    lane, queue, at = biz_type.timer_lane, biz_type.queue, timezone.now()
    timers = [Timer(lane, queue, one.id, at, one.priority, one.flow_key) for one in gone]

    keys = {(biz_type.pk, one.flow_key) for one in gone if one.place is not None} if biz_type.is_ordered else set()

    def forget_them() -> None:
        forget(timers)
        if keys:
            wake_keys(keys, using=using)

    if timers:
        transaction.on_commit(forget_them, using=using, robust=True)


def _aim(row: Series, *, now: datetime, using: str) -> None:
    """Has the series go on after now, and after the last occurrence that is there: a worker has taken that."""
    there = Job.objects.using(using).filter(series_id=row.pk, occurrence_at__isnull=False).order_by("-occurrence_at")
    last = there.values_list("occurrence_at", flat=True).first()
    row.next_occurrence_at = first_occurrence(row, after=now if last is None else max(now, last))
    row.make_at = now if row.next_occurrence_at else None


def _rewrite(row: Series, *, asks: bool, now: datetime, using: str) -> None:
    """Gives the unclaimed occurrences the series' content. Their timers move, since the priority may have changed."""
    rows = unclaimed([row.pk], using=using)
    # Each is found by its own key: a person may have given one of them another.
    former = dict(rows.values_list("id", "flow_key"))
    if not former:
        return
    rewrite(rows, list(former), row, now=now)
    if asks:  # something else than before
        end_links(former, using=using)
    keys = {(row.biz_type_id, key) for key in (row.flow_key, *former.values()) if key}
    if row.biz_type.is_ordered:
        _place_again([job_id for job_id, key in sorted(former.items()) if key != row.flow_key], row, using=using)

    def move_them() -> None:
        jobs = list(Job.objects.using(using).filter(id__in=list(former), status=Status.PENDING).defer("body", "raw"))
        if row.biz_type.is_ordered:
            jobs = [job for job in jobs if job.place is None]
            wake_keys(keys, using=using)
        for key in set(former.values()):
            of_key = [Timer.of(job, row.biz_type) for job in jobs if former[job.id] == key]
            move(of_key, former_key=None if key == row.flow_key else key)

    transaction.on_commit(move_them, using=using, robust=True)


def _place_again(ids: Sequence[UUID], row: Series, *, using: str) -> None:
    """Gives jobs of an ordered series that came into its flow key their places there."""
    places = give_places([(row.biz_type_id, row.flow_key)] * len(ids), using=using) if row.flow_key else []
    for job_id, given in zip_longest(ids, places):
        Job.objects.using(using).filter(id=job_id).update(place=given and given[0])


def _make(row: Series, *, now: datetime, using: str) -> None:
    """Makes its next occurrences at once, so that they can be seen."""
    if row.make_at is not None and row.make_at <= now:
        make([row], now=now, using=using)


class _Alter(Protocol):
    """What a verb does to a series that is locked."""

    def __call__(self, row: Series, *, now: datetime, using: str) -> bool:
        """Whether anything is another than before."""


def _altered(
    series_id: int, deed: Deed, alter: _Alter, *, columns: Iterable[str], by: Actor | None, reason: str,
    **which: Unpack[Which],
) -> Series:  # fmt: skip
    """The series after a verb: locked, altered, stored, recorded, and with its next occurrences made.

    Args:
        series_id: its number.
        deed: what the audit calls it.
        alter: what the verb does.
        columns: those that the audit shows before and after.
        by: who asks.
        reason: why.
        which: the version and the place of the row.

    Raises SeriesNotFound, StaleSeries, and what ``alter`` raises.
    """
    now = timezone.now()
    with _locked(series_id, **which) as (row, using):
        before = {name: stored(row, name) for name in columns}
        if not alter(row, now=now, using=using):
            return row
        row.version += 1
        row.updated_at, row.changed_by = now, by.name if by else ""
        row.save(using=using)
        after = {name: stored(row, name) for name in before}
        _record(deed, row, by=by, before=before, after=after, reason=reason, using=using)
        _make(row, now=now, using=using)
    return _read(series_id, using=using)


def _record(deed: Deed, row: Series, *, by: Actor | None, using: str, **details: Any) -> None:
    for name in ("before", "after"):
        details |= {name: for_audit(row, details[name])} if details.get(name) else {}
    audit.record_deed(deed, by=by, using=using, biz_type_id=row.biz_type_id, what=row, **details)


def _given(row: Series) -> dict[str, Any]:
    fields = [field for field in Series._meta.concrete_fields if field.attname not in _OWN]
    return {f.attname: stored(row, f.attname) for f in fields if stored(row, f.attname) != f.get_default()}


def _read(series_id: int, *, using: str) -> Series:
    return Series.objects.using(using).select_related("biz_type").get(pk=series_id)
