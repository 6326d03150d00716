"""Follow-ups: the jobs that a biz type wants after a success, a death or an answer, made with the end of the job.

A job has one at most, by the status that it got: it is made in the transaction, and behind the statement, that ends it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connections
from django.utils import timezone

from tasksapp.access.actors import FOLLOWING
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.visible import Reach
from tasksapp.errors import InvalidJob
from tasksapp.jobs import signals
from tasksapp.jobs.exact_bytes import shown_bytes
from tasksapp.jobs.masking import answer_passed_on, passed_on
from tasksapp.jobs.requests import RULES, Accepted, JobRequest, Rejected, SecretRequest, checked
from tasksapp.jobs.writing import Batch, Created, Writing
from tasksapp.models import BizType, Job, MissingFollowUp, Status
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.new_job import seal_place
from tasksapp.models.sealed_value import SHORT_BYTES, SHORT_LENGTH, seal_short
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.sql.answers import Answer, Taker, take_answers
from tasksapp.sql.tombstones import REASON, living

logger = logging.getLogger(__name__)

#: A follow-up of a follow-up of … is made so many times. Loops are refused where biz types are edited; two people who
#: edit at the same moment could still make one.
MOST_DEPTH = 8
#: The body's member that says what a job follows.
FOLLOWS = "follows"


class EndedJob(NamedTuple):
    """A job that has succeeded, died or was called off, as far as its follow-up tells of it.

    ``body``: empty where it is yet to be read. ``answer``: the one that it took; None where there was none.
    """

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
    answer: Answer | None = None
    is_sealed: bool = False

    @property
    def is_resolved(self) -> bool:
        """Whether it was called off."""
        return self.status == Status.CANCELLED

    @property
    def follow_up(self) -> str:
        """The code of the biz type whose job follows; '' for none."""
        if self.is_resolved:
            return self.biz_type.on_resolved if self.answer else ""
        return follow_up_of(self.biz_type, status=self.status)

    @classmethod
    def of(cls, job: Job) -> EndedJob:
        """The ended job of a row, with its biz type."""
        # What an encrypted one carries is read where a job follows it.
        is_left = job.is_sealed or job.get_deferred_fields()
        body, raw, request = ("", None, "") if is_left else (job.body, job.raw, job.request)
        return cls(
            job.id, job.biz_type, job.status, job.biz_id, body, job.due_at, job.attempts, job.last_error,
            job.error_class, job.traceparent, raw, request, job.flow_key, is_sealed=job.is_sealed,
        )  # fmt: skip


def follow_up_of(biz_type: BizType, *, status: str) -> str:
    """The code of the biz type whose job follows a job that has ended so; '' for none."""
    if status == Status.SUCCEEDED:
        return biz_type.on_success
    return biz_type.on_dead if status == Status.DEAD else ""


def make_follow_ups(ended: Sequence[EndedJob], *, using: str, now: datetime | None = None) -> None:
    """Makes the jobs that follow, in the caller's transaction, which has written how these jobs ended.

    Jobs of biz types that wait for answers take theirs: it decides what follows, or came too late for that.

    Neither a resolve from before nor an insert rate keeps what follows from being made. What cannot be (its biz type
    is gone or disabled, or keeps one live job of the biz id) is logged, and said by the job: it has ended all the same.
    While the tenant is moved it is made: the move waits for what runs.
    """
    now = now or timezone.now()
    ended = _with_answers(ended, now=now, using=using)
    by_tenant: dict[int, list[EndedJob]] = {}
    for job in ended:
        if job.follow_up:
            by_tenant.setdefault(job.biz_type.tenant_id or 0, []).append(job)
    for tenant_id, group in sorted(by_tenant.items()):  # each locks flow keys: all workers do so in one order
        requests = [(job, request) for job in group if (request := _request(job, using=using)) is not None]
        made = _made([request for _, request in requests], reach=Reach(tenant_id), now=now, using=using)
        for (job, request), outcome in zip(requests, made, strict=True):
            if isinstance(outcome, Rejected):
                _complain(job, request.biz_type, str(outcome.error), using=using)


def _with_answers(ended: Sequence[EndedJob], *, now: datetime, using: str) -> list[EndedJob]:
    takers = [
        Taker(job.id, job.biz_type.pk, job.biz_id, is_resolved=job.is_resolved, is_sealed=job.is_sealed)
        for job in ended
        if job.biz_type.on_resolved
    ]
    taken = take_answers(takers, now=now, using=using)
    return [job._replace(answer=taken[job.id]) if job.id in taken else job for job in ended]


def _made(requests: Sequence[JobRequest], *, reach: Reach, now: datetime, using: str) -> list[Created | Rejected]:
    """What became of each request."""
    reach = reach._replace(while_moving=True)
    outcomes, _ = checked(requests, reach=reach, now=now, using=using, is_limited=False)
    accepted = [outcome for outcome in outcomes if isinstance(outcome, Accepted)]
    # Tombstones hold follow-ups from before them; the clock of who laid one may be ahead of this one.
    keys = {(one.row.biz_type_id, one.row.biz_id) for one in accepted if one.biz_type.has_tombstones}
    created_at = max([now, *(tombstone.at for tombstone in living(keys, using=using).values())])
    writing = Writing(accepted, Batch(created_at, using, None, FOLLOWING.name), connections[using])
    if accepted:
        writing.save()
    made = iter(writing.outcomes)
    return [outcome if isinstance(outcome, Rejected) else next(made) for outcome in outcomes]


def make_follow_up(job: EndedJob, *, seen_by: object, now: datetime, using: str) -> UUID:
    """The id of the job that follows, which was missing; in the caller's transaction. Raises what keeps it from that.

    Raises InvalidJob where it would be one too many of a chain, and UnknownBizType where the caller of the API does
    not see its biz type.
    """
    request = _request(job, using=using)
    if request is None:
        raise InvalidJob(None, "chain", f"at most {MOST_DEPTH} jobs follow each other")
    reach = Reach.of(seen_by)._replace(tenant_id=job.biz_type.tenant_id or 0)
    (outcome,) = _made([request], reach=reach, now=now, using=using)
    if isinstance(outcome, Rejected):
        raise outcome.error
    return outcome.job_id


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
    is_left_out, body = not job.body, json.loads(job.body or "null")
    depth = _depth(body) + 1
    if depth > MOST_DEPTH:
        _complain(job, job.follow_up, f"it would be number {depth} of a chain", using=using)
        return None
    about: dict[str, Any] = {
        "id": str(job.id),
        "biz_type": job.biz_type.code,
        "status": str(job.status),
        "attempts": job.attempts,
        "due_at": job.due_at.isoformat(),
        "last_error": job.last_error,
        "error_class": job.error_class,
    }
    answer_name = "answer" if job.is_resolved else "late_answer"
    if job.biz_type.masked_fields:
        job, body = _masked(job, body, answer_name=answer_name, using=using)
    if job.answer is not None:
        about[answer_name] = job.answer.as_json()
    shown = shown_bytes(job.raw, job.request)
    exact = {name: value for name, value in shown._asdict().items() if value is not None}
    carried: dict[str, Any] = {FOLLOWS: {**about, "depth": depth}, "body": body, **exact}
    try:
        RULES["body"](carried)
    except InvalidJob:
        is_left_out = True
    if is_left_out:
        # With what it follows beside it, the body is too large or too deep for a job.
        carried = {FOLLOWS: {**carried[FOLLOWS], "body_left_out": True}, "body": None}
        if job.answer is not None:
            carried = _with_room(carried)
    kind = SecretRequest if job.is_sealed else JobRequest
    return kind(job.follow_up, biz_id=job.biz_id, flow_key=job.flow_key, body=carried, traceparent=job.traceparent)


def _masked(job: EndedJob, body: Any, *, answer_name: str, using: str) -> tuple[EndedJob, Any]:
    """The job and its body with masks in place of fields that the biz type of the job that follows would show."""
    biz_type, code = job.biz_type, job.follow_up
    to = biz_type_cache.find({code}, tenant_id=biz_type.tenant_id or DEFAULT_TENANT, using=using).get(code)
    if job.answer is not None:
        said = answer_passed_on(
            job.answer.body, body=job.body, raw=job.raw, job_id=job.id, biz_type=biz_type, to=to,
            within=f"/{FOLLOWS}/{answer_name}/body",
        )  # fmt: skip
        job = job._replace(answer=job.answer._replace(body=said))
    if not job.body:
        return job, body
    text = passed_on(job.body, job.raw, job_id=job.id, biz_type=biz_type, to=to, within="/body")
    return (job, body) if text is None else (job._replace(raw=None), json.loads(text))


def _with_body(job: EndedJob, *, using: str) -> EndedJob:
    # A task that ran into its hard time limit was completed without its body, and so is a claim of a puller.
    if job.body:
        return job
    row = Job.objects.using(using).filter(id=job.id).only("biz_type_id", "body", "raw", "request").first()
    if row is None:
        return job._replace(body="null")
    try:
        return job._replace(body=row.body, raw=row.raw, request=row.request)
    except SecretUnreadable as error:
        logger.warning("what follows job %s is made without its body: %s", job.id, error, extra={"action": "follow"})
        return job


def _with_room(carried: dict[str, Any]) -> dict[str, Any]:
    """The same, without the body of the answer where that alone is too large or too deep."""
    try:
        RULES["body"](carried)
    except InvalidJob:
        name = "answer" if "answer" in carried[FOLLOWS] else "late_answer"
        carried[FOLLOWS][name] |= {"body": None, "body_left_out": True}
    return carried


def _depth(body: Any) -> int:
    """How many jobs the job follows; 0 for one that follows none."""
    follows = body.get(FOLLOWS) if isinstance(body, dict) else None
    depth = follows.get("depth") if isinstance(follows, dict) else None
    return depth if isinstance(depth, int) and depth >= 0 else 0


def _complain(job: EndedJob, code: str, why: str, *, using: str) -> None:
    said, before = f"no job of {code} follows: {why}", REASON if job.is_resolved else job.last_error
    # As much as a row keeps of an encrypted error.
    room = SHORT_BYTES - len(f"; {said}".encode())
    before = before.encode()[: max(0, room)].decode(errors="ignore")
    error = f"{before}; {said}" if before else said
    if job.is_sealed:
        error = seal_short(error, place=f"{seal_place(job.biz_type.pk, job.id)}/last_error")
    rows = Job.objects.using(using).filter(id=job.id)
    rows.update(last_error=error[:SHORT_LENGTH])
    end = {"biz_type": job.biz_type, "at": rows.values_list("finished_at", flat=True).get()}
    MissingFollowUp.objects.using(using).update_or_create(job_id=job.id, defaults=end)
    logger.warning(
        "no job of %s follows job %s: %s", code, job.id, why, extra={"action": "follow", "job_id": str(job.id)}
    )
