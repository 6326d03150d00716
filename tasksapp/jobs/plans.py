"""Plans: several jobs of one business key, made together and resolved together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import router, transaction

from tasksapp.access.actors import Actor
from tasksapp.errors import InvalidJob
from tasksapp.jobs.creation import Created, Rejected, create_many
from tasksapp.jobs.requests import JobRequest
from tasksapp.models import Job

#: Jobs of one plan.
MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class Step:
    """One job of a plan: what happens, and when.

    Args:
        biz_type: the code of its biz type.
        delay: how long after now; or
        body: any JSON value.
        due_at: when, with a time zone.
        priority: 0 goes first, 9 last; None for the biz type's own.
        max_attempts: None for as many as the biz type says.
        expires_at: no attempt begins from then on; None for no such end.
        flow_key: whose job it is, such as a customer; '' for a job without one.
        request: a timeout, headers and a URL of its own; None for what its biz type says.
        raw: the exact bytes of its body, in the place of ``body``.
        content_type: of the exact bytes; '' for application/octet-stream.
    """

    biz_type: str
    delay: timedelta | float | None = None
    body: Any = None
    _: KW_ONLY
    due_at: datetime | str | None = None
    priority: int | None = None
    max_attempts: int | None = None
    expires_at: datetime | str | None = None
    flow_key: str = ""
    request: dict[str, Any] | None = None
    raw: bytes | None = None
    content_type: str = ""

    def job(self, biz_id: str, *, idempotency_key: str | None = None) -> JobRequest:
        """The job that the step asks for."""
        return JobRequest(
            self.biz_type,
            biz_id=biz_id,
            delay=self.delay,
            due_at=self.due_at,
            body=self.body,
            priority=self.priority,
            max_attempts=self.max_attempts,
            expires_at=self.expires_at,
            flow_key=self.flow_key,
            request=self.request,
            raw=self.raw,
            content_type=self.content_type,
            idempotency_key=idempotency_key,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The jobs that a plan has made, in the order of its steps.

    It goes through its steps' biz types where :func:`tasksapp.jobs.resolve` takes it.
    """

    biz_id: str
    biz_types: Sequence[str]
    jobs: Sequence[Created]

    def __iter__(self) -> Iterator[str]:
        return iter(self.biz_types)


def plan(
    biz_id: str,
    steps: Iterable[Step],
    *,
    idempotency_key: str | None = None,
    tenant: str | None = None,
    seen_by: object = None,
    by: Actor | None = None,
    using: str | None = None,
) -> Plan:
    """Makes all jobs of a plan in one transaction, or none of them.

    Args:
        biz_id: the business key that they share.
        steps: the jobs.
        idempotency_key: the same plan with the same key makes its jobs once; each step has the key and its place.
        tenant: the code of the tenant whose biz types they are; None for the default one.
        seen_by: the caller of the API whose biz types they are, in the place of ``tenant``.
        by: who makes them; None for the project's own code.
        using: the database.

    Raises InvalidJob, KeyTaken, KeyResolved or TooManyInserts, of the first step that is refused, and UnknownTenant.
    """
    using = using or router.db_for_write(Job)
    wanted = list(steps)
    if not 0 < len(wanted) <= MOST_STEPS:
        raise InvalidJob("steps", "invalid", f"a plan has 1 to {MOST_STEPS} steps, got {len(wanted)}")
    if not biz_id:
        raise InvalidJob("biz_id", "blank", "biz_id may not be empty")
    keys = [None if idempotency_key is None else f"{idempotency_key}:{number}" for number in range(len(wanted))]
    requests = [step.job(biz_id, idempotency_key=key) for step, key in zip(wanted, keys, strict=True)]
    with transaction.atomic(using=using):
        made = create_many(requests, tenant=tenant, seen_by=seen_by, by=by, using=using)
        for outcome in made:
            if isinstance(outcome, Rejected):
                raise outcome.error
    created = [outcome for outcome in made if isinstance(outcome, Created)]
    return Plan(biz_id, list(dict.fromkeys(step.biz_type for step in wanted)), created)
