"""Verbs: what people and callers do to operations. Each takes milliseconds; ``maintenance`` does the work."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import router, transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.access.audit import Deed
from tasksapp.biz_types.visible import Reach, labelled, visible_biz_types
from tasksapp.errors import InvalidJob, OperationNotFound, WrongOperationState
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.validation import is_number
from tasksapp.jobs.verbs import Verb, new_time
from tasksapp.models import ApiKey, BizType, Job, Operation, Series, Status, Tenant
from tasksapp.models.conflicts import repeated
from tasksapp.operations.cursor import Cursor
from tasksapp.operations.starter import Starter, may_see_operation, record_deed

State = Operation.State
#: The verb that makes jobs; all others change some.
BACKFILL = Operation.VerbName.BACKFILL
#: States of operations that may still do something.
OPEN = (State.PLANNING, State.PLANNED, State.RUNNING)
#: Cancelling or dropping more jobs than this takes the number, typed.
TYPED_ABOVE = 1_000
#: A trial may have so many jobs.
MOST_TRIAL_JOBS = 1_000
#: The fastest and the slowest pace, in jobs a second.
FASTEST, SLOWEST = 100_000.0, 1 / 86_400
MOST_SPREAD = timedelta(days=30)
REASON_LENGTH = 500


@repeated
def plan(
    verb: str,
    job_filter: JobFilter,
    *,
    by: Starter,
    seen_by: object = None,
    due_at: datetime | None = None,
    reason: str = "",
    reach_of: Operation | None = None,
    using: str | None = None,
) -> Operation:
    """A new operation, whose jobs are counted next. It changes nothing before it is started.

    Args:
        verb: the name of a verb, such as ``redrive``.
        job_filter: which jobs; of these only those in the status from which the verb starts.
        by: who plans it.
        seen_by: the caller of the API, for whose jobs it is; None for jobs of every tenant that the filter allows.
        due_at: the new time, of jobs that are rescheduled.
        reason: why, for the record.
        reach_of: an operation which the caller sees: the new one is for no jobs of other tenants or biz types.
        using: the database.

    Raises InvalidJob where there is no such verb or biz type, or the filter or the time do not fit the verb.
    """
    if verb not in Operation.VerbName.values:
        raise InvalidJob("verb", "invalid", _("there is no verb %(verb)r") % {"verb": verb})
    using = using or router.db_for_write(Job)
    source = source_of(verb)
    if verb == BACKFILL:
        job_filter = _of_series(job_filter, seen_by=seen_by, using=using)
    elif job_filter.status not in (None, source):
        message = _("%(verb)s is for jobs that are %(source)s, not for those that are %(status)s")
        words = {"verb": verb, "source": source, "status": job_filter.status}
        raise InvalidJob("status", "conflict", message % words)
    if due_at is not None and verb != Operation.VerbName.RESCHEDULE:
        raise InvalidJob("due_at", "conflict", _("only rescheduled jobs get a new time"))
    biz_type = _biz_type(job_filter, seen_by=seen_by, using=using)
    operation = Operation(
        verb=verb,
        job_filter=job_filter.as_dict(),
        biz_type=biz_type,
        **_reach_columns(biz_type, seen_by=seen_by, like=reach_of, using=using),
        due_at=None if verb == BACKFILL else new_time(job_verb(verb), due_at=due_at, delay=None, now=timezone.now()),
        reason=_reason(reason),
        cursor=Cursor(starter=by.kind).as_dict(),
        **_starter_columns(by),
    )
    with transaction.atomic(using=using):
        operation.api_key_id = _kept_key(by.api_key_id, using=using)
        operation.save(using=using, force_insert=True)
        after = {"verb": verb, "filter": operation.job_filter}
        record_deed(operation, Deed.PLAN, by=by.actor, using=using, reason=operation.reason, after=after)
    return operation


@repeated
def start(
    operation_id: int,
    *,
    by: Starter,
    seen_by: object = None,
    rate_per_second: float | None = None,
    spread_seconds: float | None = None,
    trial_jobs: int = 0,
    trial_percent: int = 90,
    reason: str = "",
    typed_count: int | None = None,
    using: str | None = None,
) -> Operation:
    """Starts an operation whose jobs are counted.

    Args:
        operation_id: which operation.
        by: who starts it; it stops when this person or key may not do this any more.
        seen_by: the caller of the API, who must see the operation; None for people, who see all.
        rate_per_second: the pace, in jobs a second; or
        spread_seconds: how long it is to take. Neither: as fast as possible.
        trial_jobs: so many jobs go first, and the others only if enough of their first attempts succeed; 0: no trial.
        trial_percent: how many of a hundred must succeed.
        reason: why, for the record; '' keeps what was given to the plan.
        typed_count: the number of jobs, as a person typed it, for verbs that call many jobs off.
        using: the database.

    Raises OperationNotFound, WrongOperationState (it is not planned) or InvalidJob (a value does not fit).
    """
    using = using or router.db_for_write(Job)
    operation = find(operation_id, seen_by=seen_by, using=using)
    planned = operation.planned or 0
    values: dict[str, Any] = {
        "rate_per_second": _pace(rate_per_second, spread_seconds, planned=planned),
        **_trial(operation, jobs=trial_jobs, percent=trial_percent),
        "reason": _reason(reason) or operation.reason,
        "state": State.RUNNING,
        "started_at": timezone.now(),
        "cursor": {
            **operation.cursor,
            "starter": by.kind,
            "trial": "running" if trial_jobs else None,
            "turn_at": None,
        },
        **_starter_columns(by),
    }
    _check_count(operation, planned=planned, typed=typed_count)
    if operation.state != State.PLANNED:
        raise WrongOperationState(operation_id, verb="start", state=operation.state)
    after = {"planned": planned, "rate_per_second": values["rate_per_second"], "trial_jobs": trial_jobs}
    return _changed(operation, Deed.START, by=by, values=values, using=using, reason=values["reason"], after=after)


@repeated
def stop(
    operation_id: int, *, by: Starter, seen_by: object = None, reason: str = "", using: str | None = None
) -> Operation:
    """Stops an operation; jobs that it changed already stay changed, and start within seconds where that is the verb.

    Raises OperationNotFound, WrongOperationState (it has ended) or InvalidJob (the reason is too long).
    """
    using = using or router.db_for_write(Job)
    operation, why = find(operation_id, seen_by=seen_by, using=using), _reason(reason)
    if operation.state not in OPEN:
        raise WrongOperationState(operation_id, verb="stop", state=operation.state)
    name = by.actor.name or "the project's own code"
    values = {
        "state": State.STOPPED,
        "state_reason": f"stopped by {name}{': ' if why else ''}{why}"[:REASON_LENGTH],
        "finished_at": timezone.now(),
        "left": Greatest(F("planned") - F("done"), 0),
    }
    if operation.planned is None:
        del values["left"]
    return _changed(operation, Deed.STOP, by=by, values=values, using=using, reason=why)


@repeated
def repace(
    operation_id: int, *, by: Starter, seen_by: object = None, rate_per_second: float | None, using: str | None = None
) -> Operation:
    """Gives a running operation another pace, in jobs a second; None: as fast as possible. It holds within seconds.

    Raises OperationNotFound, WrongOperationState (it does not run) or InvalidJob (there is no such pace).
    """
    using = using or router.db_for_write(Job)
    operation = find(operation_id, seen_by=seen_by, using=using)
    values = {"rate_per_second": _pace(rate_per_second, None, planned=0)}
    if operation.state != State.RUNNING:
        raise WrongOperationState(operation_id, verb="pace", state=operation.state)
    before = {"rate_per_second": operation.rate_per_second}
    return _changed(operation, Deed.REPACE, by=by, values=values, using=using, before=before, after=values)


def current(*, biz_type: BizType | None = None, using: str | None = None) -> list[Operation]:
    """The operations that have not ended, the oldest first, 100 at most.

    Args:
        biz_type: only those that may concern jobs of this biz type.
        using: the database.
    """
    rows = Operation.objects.using(using or router.db_for_write(Job)).filter(state__in=OPEN)
    if biz_type is not None:
        rows = rows.filter(biz_type_id=biz_type.id) | rows.filter(biz_type_id=None)
    return list(rows.order_by("id")[:100])


def find(operation_id: int, *, seen_by: object = None, using: str | None = None) -> Operation:
    """The operation as it is now, if the caller of the API sees it. Raises OperationNotFound."""
    rows = Operation.objects.using(using or router.db_for_write(Job))
    operation = rows.select_related("biz_type").filter(pk=operation_id).first()
    if operation is None or (seen_by is not None and not may_see_operation(seen_by, operation)):
        raise OperationNotFound(f"there is no operation {operation_id}")
    return operation


def job_verb(name: str) -> Verb:
    """The verb of jobs of that name, which is not that of a backfill."""
    return Verb[name.upper()]


def source_of(name: str) -> Status | None:
    """The status that jobs have before the verb of that name changes them; None where it makes them."""
    return None if name == BACKFILL else Status(job_verb(name).source)


def _changed(
    operation: Operation,
    deed: Deed,
    *,
    by: Starter,
    values: dict[str, Any],
    using: str,
    reason: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> Operation:
    """Writes what a verb changes, if the state is still the one that the verb saw, and the entry about it.

    Without an ``after`` the entry says how many jobs are changed.
    """
    with transaction.atomic(using=using):
        rows = Operation.objects.using(using).filter(pk=operation.pk, state=operation.state)
        changed = rows.update(**values, updated_at=timezone.now())
        if changed:
            if after is None:
                # Read behind the UPDATE: a turn may have changed jobs since the verb saw the operation.
                after = {"done": find(operation.pk, using=using).done}
            record_deed(operation, deed, by=by.actor, using=using, reason=reason, before=before, after=after)
    now = find(operation.pk, using=using)
    if not changed:
        verb = "pace" if deed is Deed.REPACE else deed.removeprefix("operation.")
        raise WrongOperationState(operation.pk, verb=verb, state=now.state)
    return now


def _starter_columns(by: Starter) -> dict[str, Any]:
    return {"started_by": by.actor.name, "user_id": by.user_id, "api_key_id": by.api_key_id}


def _kept_key(api_key_id: int | None, *, using: str) -> int | None:
    """The caller's key, which stays until the transaction ends; None where it was deleted since the call began.

    Without a key the operation stops by itself, as those do whose key is deleted later.
    """
    if api_key_id is None:
        return None
    rows = ApiKey.objects.using(using).select_for_update(no_key=True).filter(pk=api_key_id)
    return rows.values_list("pk", flat=True).first()


def _biz_type(job_filter: JobFilter, *, seen_by: object, using: str) -> BizType | None:
    """The one biz type that the filter names; None where it names none."""
    if not job_filter.biz_type:
        return None
    if seen_by is None:
        found = BizType.objects.using(using).filter(labelled(job_filter.biz_type)).first()
    else:
        found = visible_biz_types(seen_by, using=using).filter(code=job_filter.biz_type).first()
    if found is None:
        message = _("there is no biz type %(code)r") % {"code": job_filter.biz_type}
        raise InvalidJob("biz_type", "unknown", message)
    return found


def _of_series(job_filter: JobFilter, *, seen_by: object, using: str) -> JobFilter:
    """The filter of a backfill: a series, its biz type, and a time in the past. Raises InvalidJob."""
    wrong = sorted(set(job_filter.as_dict()) - {"series", "biz_type", "occurrence_from", "occurrence_until"})
    if wrong:
        raise InvalidJob(wrong[0], "conflict", _("a backfill has no filter %(name)r") % {"name": wrong[0]})
    begin, end = job_filter.occurrence_from, job_filter.occurrence_until
    for name, value in (("series", job_filter.series), ("occurrence_from", begin), ("occurrence_until", end)):
        if value is None:
            raise InvalidJob(name, "required", _("a backfill needs %(name)s") % {"name": name})
    if begin is not None and end is not None and (end <= begin or end > timezone.now()):
        message = _("occurrence_until must be later than occurrence_from, and not later than now")
        raise InvalidJob("occurrence_until", "invalid", message)
    series = Series.objects.using(using).select_related("biz_type").filter(id=job_filter.series or 0).first()
    biz_type = None if series is None else series.biz_type
    if biz_type is None or (seen_by is not None and not Reach.of(seen_by).has(biz_type)):
        raise InvalidJob("series", "unknown", _("there is no series %(id)s") % {"id": job_filter.series})
    code = biz_type.label if seen_by is None else biz_type.code
    if job_filter.biz_type not in ("", code):
        raise InvalidJob("biz_type", "conflict", _("the series is of another biz type"))
    return replace(job_filter, biz_type=code)


def _reach_columns(biz_type: BizType | None, *, seen_by: object, like: Operation | None, using: str) -> dict[str, Any]:
    """Whose jobs the operation is for."""
    if like is not None:
        return {"tenant_id": like.tenant_id, "biz_type_ids": like.biz_type_ids}
    if seen_by is not None:
        reach = Reach.of(seen_by)
        return {"tenant_id": reach.tenant_id, "biz_type_ids": sorted(reach.biz_type_ids or ())}
    if biz_type is not None:
        return {"tenant_id": biz_type.tenant_id}
    ids = list(Tenant.objects.using(using).values_list("id", flat=True)[:2])
    # Where there is one only, its callers see the operation; a tenant that comes later has no part in it.
    return {"tenant_id": ids[0] if len(ids) == 1 else None}


def _reason(given: Any) -> str:
    if not isinstance(given, str) or len(given) > REASON_LENGTH or "\0" in given:
        message = _("a reason is a text of %(most)d characters at most") % {"most": REASON_LENGTH}
        raise InvalidJob("reason", "invalid", message)
    return given.strip()


def _check_count(operation: Operation, *, planned: int, typed: Any) -> None:
    if typed is not None and (not is_number(typed) or typed < 0):
        raise InvalidJob("typed_count", "invalid", _("give the number of jobs"))
    if operation.verb not in {"cancel", "drop"} or planned <= TYPED_ABOVE:
        return
    if typed != planned:
        message = _("this calls off %(planned)d jobs for good: type that number to start it") % {"planned": planned}
        raise InvalidJob("typed_count", "required" if typed is None else "wrong", message)


def _pace(rate: Any, spread: Any, *, planned: int) -> float | None:
    """Jobs a second; None for as fast as possible."""
    if rate is not None and spread is not None:
        raise InvalidJob("rate_per_second", "conflict", _("give a pace or a time to spread over, not both"))
    if spread is not None:
        if not is_number(spread) or not 1 <= spread <= MOST_SPREAD.total_seconds():
            raise InvalidJob("spread_seconds", "invalid", _("spread over 1 second to 30 days"))
        return min(FASTEST, max(1, planned) / float(spread))
    if rate is None:
        return None
    if not is_number(rate) or not SLOWEST <= rate <= FASTEST:
        message = _("a pace is one job a day to %(fastest)d jobs a second") % {"fastest": FASTEST}
        raise InvalidJob("rate_per_second", "invalid", message)
    return float(rate)


def _trial(operation: Operation, *, jobs: Any, percent: Any) -> dict[str, int]:
    if not is_number(jobs) or jobs != int(jobs) or not 0 <= jobs <= MOST_TRIAL_JOBS:
        message = _("a trial may have 0 to %(most)d jobs") % {"most": MOST_TRIAL_JOBS}
        raise InvalidJob("trial_jobs", "invalid", message)
    if not is_number(percent) or percent != int(percent) or not 1 <= percent <= 100:
        raise InvalidJob("trial_percent", "invalid", _("give 1 to 100 of a hundred that must succeed"))
    if jobs and operation.verb not in {"redrive", "run_now", BACKFILL}:
        raise InvalidJob("trial_jobs", "conflict", _("only jobs that run at once can be tried first"))
    return {"trial_jobs": int(jobs), "trial_percent": int(percent)}
