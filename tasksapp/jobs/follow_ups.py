"""Follow-ups: the jobs that a biz type wants after a success or a death, made in the outcome's own transaction."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.visible import Reach
from tasksapp.errors import InvalidJob
from tasksapp.jobs import signals
from tasksapp.jobs.creation import create_many
from tasksapp.jobs.exact_bytes import shown_bytes
from tasksapp.jobs.masking import passed_on
from tasksapp.jobs.requests import RULES, JobRequest, Rejected
from tasksapp.models import BizType, Job, Status
from tasksapp.models.tenant import DEFAULT_TENANT

logger = logging.getLogger(__name__)

#: A follow-up of a follow-up of … is made so many times. Loops are refused where biz types are edited; two people who
#: edit at the same moment could still make one.
MOST_DEPTH = 8
#: The body's member that says what a job follows.
FOLLOWS = "follows"


class EndedJob(NamedTuple):
    """A job that has succeeded or died, as far as its follow-up tells of it."""

    id: UUID
    biz_type: BizType
    status: str
    biz_id: str
    body: str
    due_at: datetime
    attempts: int
    last_error: str
    error_class: str
    traceparent: str
    raw: bytes | memoryview | None = None
    request: str = ""
    flow_key: str = ""

    @property
    def follow_up(self) -> str:
        """The code of the biz type whose job follows; '' for none."""
        return follow_up_of(self.biz_type, status=self.status)

    @classmethod
    def of(cls, job: Job) -> EndedJob:
        """The ended job of a row, with its biz type."""
        if job.get_deferred_fields():
            job.refresh_from_db(fields=["body", "raw"])  # both at once
        return cls(
            job.id, job.biz_type, job.status, job.biz_id, job.body, job.due_at, job.attempts, job.last_error,
            job.error_class, job.traceparent, job.raw, job.request, job.flow_key,
        )  # fmt: skip


def follow_up_of(biz_type: BizType, *, status: str) -> str:
    """The code of the biz type whose job follows a job that has ended so; '' for none."""
    if status == Status.SUCCEEDED:
        return biz_type.on_success
    return biz_type.on_dead if status == Status.DEAD else ""


def make_follow_ups(ended: Sequence[EndedJob], *, using: str) -> None:
    """Makes the jobs that follow, in the caller's transaction, which writes the outcomes.

    What cannot be made (its biz type is gone, disabled or takes no more jobs) is logged: the outcome counts all the
    same. While the tenant is moved it is made: the move waits for what runs.
    """
    by_tenant: dict[int, list[EndedJob]] = {}
    for job in ended:
        if job.follow_up:
            by_tenant.setdefault(job.biz_type.tenant_id or 0, []).append(job)
    for tenant_id, group in sorted(by_tenant.items()):  # each locks flow keys: all workers do so in one order
        requests = [(job, request) for job in group if (request := _request(job, using=using)) is not None]
        made = create_many(
            [request for _, request in requests], seen_by=Reach(tenant_id, while_moving=True), using=using
        )
        for (job, request), outcome in zip(requests, made, strict=True):
            if isinstance(outcome, Rejected):
                _complain(job, request.biz_type, str(outcome.error))


def send_signals(ended: Sequence[EndedJob], *, using: str) -> None:
    """Tells a project's receivers, after the commit."""
    for job in ended:
        signal = signals.job_succeeded if job.status == Status.SUCCEEDED else signals.job_dead
        for receiver, error in signal.send_robust(
            sender=Job, job_id=job.id, biz_type=job.biz_type, biz_id=job.biz_id, last_error=job.last_error, using=using
        ):
            if isinstance(error, Exception):
                logger.error("the receiver %r of a signal failed for job %s", receiver, job.id, exc_info=error)


def has_receivers(status: str) -> bool:
    """Whether a project listens to jobs that end so."""
    signal = signals.job_succeeded if status == Status.SUCCEEDED else signals.job_dead
    return bool(signal.receivers)


def _request(job: EndedJob, *, using: str) -> JobRequest | None:
    job = _with_body(job, using=using)
    body = json.loads(job.body)
    depth = _depth(body) + 1
    if depth > MOST_DEPTH:
        _complain(job, job.follow_up, f"it would be number {depth} of a chain")
        return None
    about = {
        "id": str(job.id),
        "biz_type": job.biz_type.code,
        "status": str(job.status),
        "attempts": job.attempts,
        "due_at": job.due_at.isoformat(),
        "last_error": job.last_error,
        "error_class": job.error_class,
    }
    if job.biz_type.masked_fields:
        job, body = _masked(job, body, using=using)
    shown = shown_bytes(job.raw, job.request)
    exact = {name: value for name, value in shown._asdict().items() if value is not None}
    carried: dict[str, Any] = {FOLLOWS: {**about, "depth": depth}, "body": body, **exact}
    try:
        RULES["body"](carried)
    except InvalidJob:
        # With what it follows beside it, the body is too large or too deep for a job.
        carried = {FOLLOWS: {**carried[FOLLOWS], "body_left_out": True}, "body": None}
    return JobRequest(
        job.follow_up, biz_id=job.biz_id, flow_key=job.flow_key, body=carried, traceparent=job.traceparent
    )


def _masked(job: EndedJob, body: Any, *, using: str) -> tuple[EndedJob, Any]:
    """The job and its body with masks in place of fields that the biz type of the job that follows would show."""
    biz_type, code = job.biz_type, job.follow_up
    to = biz_type_cache.find({code}, tenant_id=biz_type.tenant_id or DEFAULT_TENANT, using=using).get(code)
    text = passed_on(job.body, job.raw, job_id=job.id, biz_type=biz_type, to=to, within="/body")
    return (job, body) if text is None else (job._replace(raw=None), json.loads(text))


def _with_body(job: EndedJob, *, using: str) -> EndedJob:
    # A task that ran into its hard time limit was completed without its body, and so is a claim of a puller.
    if job.body:
        return job
    body, raw = Job.objects.using(using).filter(id=job.id).values_list("body", "raw").first() or ("null", None)
    return job._replace(body=body, raw=raw)


def _depth(body: Any) -> int:
    """How many jobs the job follows; 0 for one that follows none."""
    follows = body.get(FOLLOWS) if isinstance(body, dict) else None
    depth = follows.get("depth") if isinstance(follows, dict) else None
    return depth if isinstance(depth, int) and depth >= 0 else 0


def _complain(job: EndedJob, code: str, why: str) -> None:
    logger.warning(
        "no job of %s follows job %s: %s", code, job.id, why, extra={"action": "follow", "job_id": str(job.id)}
    )
