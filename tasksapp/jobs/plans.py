"""Plans: several jobs of one business key, made together and resolved together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from django.db import router, transaction

from tasksapp.access.actors import Actor
from tasksapp.errors import InvalidJob
from tasksapp.jobs.creation import Created, Rejected, create_many
from tasksapp.jobs.requests import RULES, JobRequest
from tasksapp.jobs.validation import Face
from tasksapp.models import Job

#: Jobs of one plan.
MOST_STEPS = 100
#: What the plan says for all of its jobs.
_KEYS = [name for name, rule in RULES.items() if Face.PLAN in rule.absent and name != "traceparent"]


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
    steps: Iterable[JobRequest],
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
        steps: the jobs, without keys of their own.
        idempotency_key: the same plan with the same key makes its jobs once; each step has the key and its place.
        tenant: the code of the tenant whose biz types they are; None for the default one.
        seen_by: the caller of the API whose biz types they are, in the place of ``tenant``.
        by: who makes them; None for the project's own code.
        using: the database.

    Raises InvalidJob, KeyTaken, KeyResolved, QuotaUsedUp or TooManyInserts, of the first step that is refused, and
    UnknownTenant.
    """
    using = using or router.db_for_write(Job)
    wanted = list(steps)
    if not 0 < len(wanted) <= MOST_STEPS:
        raise InvalidJob("steps", "invalid", f"a plan has 1 to {MOST_STEPS} steps, got {len(wanted)}")
    if not biz_id:
        raise InvalidJob("biz_id", "blank", "biz_id may not be empty")
    for step in wanted:
        for name in _KEYS:
            if getattr(step, name):
                raise InvalidJob(name, "unknown", f"a job of a plan has no {name} of its own")
    keys = [None if idempotency_key is None else f"{idempotency_key}:{number}" for number in range(len(wanted))]
    requests = [replace(step, biz_id=biz_id, idempotency_key=key) for step, key in zip(wanted, keys, strict=True)]
    with transaction.atomic(using=using):
        made = create_many(requests, tenant=tenant, seen_by=seen_by, by=by, using=using, together=True)
        for outcome in made:
            if isinstance(outcome, Rejected):
                raise outcome.error
    created = [outcome for outcome in made if isinstance(outcome, Created)]
    return Plan(biz_id, list(dict.fromkeys(step.biz_type for step in wanted)), created)
