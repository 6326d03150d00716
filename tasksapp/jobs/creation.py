"""Creating jobs: in the caller's transaction, armed when it commits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, ParamSpec, TypeVar, cast, overload
from uuid import UUID

from django.db import connections, router, transaction
from django.utils import timezone

from delayhub.telemetry.tracing import creation_span, is_on
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.biz_types.visible import reach_of
from tasksapp.jobs.called_off import cancel_resolved
from tasksapp.jobs.requests import Accepted, JobRequest, Rejected, checked
from tasksapp.jobs.resolved import without_resolved
from tasksapp.jobs.verbs import follow_on_commit
from tasksapp.jobs.writing import Batch, Created, Writing
from tasksapp.models import Job
from tasksapp.models.conflicts import repeated
from tasksapp.sql.driver import health_check

__all__ = ["Created", "JobRequest", "Rejected", "create", "create_many"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(kw_only=True, slots=True)
class _SingleRequest(JobRequest):
    """The parameters of ``create``: those of a request, the tenant, the database, and who creates the job."""

    tenant: str | None = None
    using: str | None = None
    by: Actor | None = None


def with_parameters_of(pattern: Callable[P, object]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Gives a function the parameters of another one, to type checkers, editors and ``help()``."""

    def decorate(function: Callable[..., R]) -> Callable[P, R]:
        function.__signature__ = inspect.signature(pattern)  # type: ignore[attr-defined]  # functions take attributes
        return function

    return decorate


@with_parameters_of(_SingleRequest)
def create(*biz_type: Any, **fields: Any) -> Created:
    """A new job, the one that the idempotency key made before, or the pending one that the debounce key stands for.

    Takes the biz type's code, the fields of a :class:`JobRequest`, ``tenant``, the code of the tenant whose biz type it
    is if that is not the default one, ``using``, the database, and ``by``, who creates it; the project's own code says
    nothing about that.

    Raises InvalidJob, TenantMoving, KeyTaken, KeyResolved, OneIsLive, QuotaUsedUp or TooManyInserts.
    """
    request = _SingleRequest(*biz_type, **fields)
    (outcome,) = create_many([request], tenant=request.tenant, using=request.using, by=request.by)
    if isinstance(outcome, Rejected):
        raise outcome.error
    return outcome


@overload
def create_many(
    requests: Sequence[JobRequest],
    *,
    together: Literal[True],
    tenant: str | None = None,
    seen_by: object = None,
    using: str | None = None,
    by: Actor | None = None,
    key_wait_seconds: float | None = None,
) -> list[Created]: ...
@overload
def create_many(
    requests: Sequence[JobRequest],
    *,
    together: bool = False,
    tenant: str | None = None,
    seen_by: object = None,
    using: str | None = None,
    by: Actor | None = None,
    key_wait_seconds: float | None = None,
) -> list[Created | Rejected]: ...
@repeated
def create_many(
    requests: Sequence[JobRequest],
    *,
    together: bool = False,
    tenant: str | None = None,
    seen_by: object = None,
    using: str | None = None,
    by: Actor | None = None,
    key_wait_seconds: float | None = None,
) -> list[Created | Rejected] | list[Created]:
    """Create jobs. Return Created or Rejected for each request, in order; a rejected one does not stop the others.

    Args:
        requests: what is asked for.
        together: create all jobs or none. The error of the first request that is rejected is raised, with ``place`` as
            the request's place. Of jobs with one business key, all are answered if one of them was answered before.
        tenant: the code of the tenant whose biz types they name; None for the default one.
        seen_by: the caller of the API whose tenant and biz types they are, in the place of ``tenant``.
        using: the database.
        by: who creates them; None for the project's own code.
        key_wait_seconds: how long to wait, on PostgreSQL, for a request with the same idempotency key whose transaction
            is open; None for as long as it takes.

    Raises UnknownTenant, TenantMoving, and KeyInUse if that takes longer.
    """
    written = partial(
        _create_many,
        tenant=tenant,
        seen_by=seen_by,
        using=using,
        by=by,
        key_wait_seconds=key_wait_seconds,
        together=together,
    )
    if together:
        with transaction.atomic(using=using or router.db_for_write(Job)):
            return _all_created(_traced(requests, written) if is_on() else written(requests))
    return _traced(requests, written) if is_on() else written(requests)


def _all_created(outcomes: list[Created | Rejected]) -> list[Created]:
    for place, outcome in enumerate(outcomes):
        if isinstance(outcome, Rejected):
            outcome.error.place = place
            raise outcome.error
    return cast("list[Created]", outcomes)


def _traced(requests: Sequence[JobRequest], write: Callable[[Sequence[JobRequest]], R]) -> R:
    """What ``write`` gives back for the requests, with the span's trace context in each of them.

    Where the callers' own contexts differ, each job keeps its caller's.

    Args:
        requests: what is asked for.
        write: creates the jobs.
    """
    given = {request.traceparent for request in requests if isinstance(request.traceparent, str)}
    codes = {request.biz_type for request in requests if isinstance(request.biz_type, str)}
    code = next(iter(codes)) if len(codes) == 1 else ""
    attributes: dict[str, str | int] = {"messaging.system": "delayhub", "messaging.operation.type": "create"}
    if code:
        attributes["messaging.destination.name"] = code
    if len(requests) != 1:
        attributes["messaging.batch.message_count"] = len(requests)
    one = next(iter(given)) if len(given) == 1 else ""
    with creation_span(f"create {code or 'jobs'}", traceparent=one, attributes=attributes) as span:
        own, differ = span.traceparent, len(given) > 1
        return write(
            [request if differ and request.traceparent else replace(request, traceparent=own) for request in requests]
        )


def _create_many(
    requests: Sequence[JobRequest],
    *,
    tenant: str | None,
    seen_by: object,
    using: str | None,
    by: Actor | None,
    key_wait_seconds: float | None,
    together: bool,
) -> list[Created | Rejected]:
    batch = Batch(timezone.now(), using or router.db_for_write(Job), None, by.name if by else "", key_wait_seconds)
    connection = connections[batch.using]
    health_check.trust(connection)
    reach = reach_of(seen_by, tenant=tenant, using=batch.using)
    outcomes, batch.limits = checked(requests, reach=reach, now=batch.now, using=batch.using)
    given, outcomes = outcomes, without_resolved(outcomes, now=batch.now, using=batch.using, together=together)
    writing = Writing([outcome for outcome in outcomes if isinstance(outcome, Accepted)], batch, connection)
    answered = {one.row.id for one in writing.accepted if one.is_answered} if outcomes is not given else set()
    if answered:
        with transaction.atomic(using=batch.using):
            writing.save()
            _end_answered(writing, answered)
    elif writing.accepted:
        writing.save()
        health_check.answered(connection)
    if writing.asks:
        _look_again(writing)
    made = iter(writing.outcomes)
    return [outcome if isinstance(outcome, Rejected) else next(made) for outcome in outcomes]


def _end_answered(writing: Writing, answered: set[UUID]) -> None:
    """Ends those jobs at once that were answered before they asked, in the transaction that makes them."""
    using = writing.batch.using
    made = [
        one
        for request, one in zip(writing.accepted, writing.outcomes, strict=True)
        if request.row.id in answered and isinstance(one, Created) and (one.created or one.replaced)
    ]
    _cancel_resolved(made, using=using)


def _look_again(writing: Writing) -> None:
    """Looks for answers once the jobs are committed: who gave one meanwhile has not seen them."""
    using = writing.batch.using

    def end_answered() -> None:
        made = [
            one
            for one in writing.outcomes
            if isinstance(one, Created) and (one.row is not None if one.created else one.replaced)
        ]
        _cancel_resolved(made, using=using)

    transaction.on_commit(end_answered, using=using, robust=True)


def _cancel_resolved(made: Sequence[Created], *, using: str) -> None:
    ended = cancel_resolved([one.job for one in made], using=using)
    follow_on_commit(ended, verb=Deed.RESOLVE, by=None, using=using)
    ids = {job.id for job in ended}
    for one in made:
        if one.job_id in ids:
            one.row = None  # so that callers are told how the job is now
            vars(one).pop("job", None)
