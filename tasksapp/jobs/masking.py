"""Masking: jobs and series with masks in their bodies, and outcomes with masks in what came back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.utils import timezone

from delayhub.clock import moment
from tasksapp.access.audit import MaskedBody
from tasksapp.biz_types.masked_fields import MASK, Hide, Masks, hide_all, hide_but, not_masked_by
from tasksapp.errors import InvalidJob
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType, Job, Series
from tasksapp.models.job_id import made_at_ms
from tasksapp.models.sealable import UNREADABLE
from tasksapp.models.sealed_value import is_sealed
from tasksapp.sql.claim_answer import ClaimedJob
from tasksapp.sql.finished import Finished, Tried

Row = TypeVar("Row", bound=Job | Series)

#: What is shown in the place of exact bytes: no pointer leads into them.
_NO_FIELDS = f'"{MASK}"'


def as_shown(row: Row, biz_type: BizType | None = None) -> Row:
    """The row as people and callers see it: itself, or a copy with masks in its body, which is not to be stored.

    Args:
        row: a job or a series, with its biz type unless that is given.
        biz_type: that of the row.

    What no key opens is left out of the row itself, and a job's last error says so.
    """
    if row.is_sealed and row.blank_unreadable() and isinstance(row, Job):
        row.last_error = UNREADABLE
    masks = _masks_of(row, biz_type or row.biz_type)
    if masks is None:
        return row
    shown = copy(row)
    shown.body = masks.shown(row.body) if row.raw is None else _NO_FIELDS
    shown.raw = None
    return shown


def answer_as_shown(answer: str, *, job: Job, is_readable: bool, following: Iterable[BizType]) -> str:
    """What a job was answered, as people see it: without what any of its biz types masks, or the job's body has masked.

    Args:
        answer: the answer's body, JSON.
        job: the job, with its biz type.
        is_readable: whether its body can be read. Where not, its masked values cannot be looked for in the answer.
        following: the biz types whose jobs may follow; these have the answer in their bodies.
    """
    masks = _masks_of(job, job.biz_type)
    shown = answer if masks is None else masks.shown(answer)
    for to in following:
        for name in ("answer", "late_answer") if to.masked_fields else ():
            begin, end = f'{{"follows":{{"{name}":{{"body":', "}}}"
            whole = Masks(to, made_at=_made_at(job.id)).shown(f"{begin}{shown}{end}")
            is_shown = whole.startswith(begin) and whole.endswith(end)
            shown = whole[len(begin) : -len(end)] if is_shown else _NO_FIELDS
    if masks is None:
        return shown
    return masks.hiding(job.body)(shown) if job.raw is None and is_readable else _NO_FIELDS


def for_audit(row: Job | Series, values: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of the row as the audit may keep them."""
    given = {name: values.get(name) for name in ("body", "raw")}
    bodies = {name: value for name, value in given.items() if value is not None and not is_sealed(value)}
    masks = _masks_of(row, row.biz_type) if bodies else None
    if masks is None:
        return dict(values)
    masked = {name: MaskedBody(value, masks.shown(value) if name == "body" else MASK) for name, value in bodies.items()}
    return {**values, **masked}


def refuse_masks(biz_type: BizType, *, body: str, raw: bytes | None = None) -> None:
    """Raises InvalidJob where a mask stands where a masked field has its value, or bytes have no fields to mask."""
    if not biz_type.masked_fields:
        return
    if raw is not None:
        text = f"body must be JSON: {biz_type.code} has masked fields, which exact bytes do not have"
        raise InvalidJob("body", "masked", text)
    if place := Masks(biz_type, made_at=timezone.now()).mask_within(body):
        text = f"body has a mask at {place}, where its value is to be: give the value itself, or no body at all"
        raise InvalidJob("body", "masked", text)


def passed_on(
    body: str, raw: object, *, job_id: UUID, biz_type: BizType, to: BizType | None, within: str
) -> str | None:
    """The body as a job that follows may carry it; None where it may carry it as it is.

    Args:
        body: what the ended job carried.
        raw: the same, where it is no JSON.
        job_id: the ended job.
        biz_type: its biz type.
        to: that of the job that follows; None where there is none.
        within: the pointer to where the body will stand in that of the job that follows.
    """
    if raw is not None:
        return _NO_FIELDS
    open_to_all = not_masked_by(biz_type.masked_fields, [] if to is None else to.masked_fields, within=within)
    if not open_to_all:
        return None
    return Masks(biz_type, made_at=_made_at(job_id), pointers=open_to_all).shown(body)


def answer_passed_on(
    answer: str, *, body: str, raw: object, job_id: UUID, biz_type: BizType, to: BizType | None, within: str
) -> str:
    """The answer to a job as the job that follows may carry it: masked as the body is, and where it has values of that.

    Args:
        answer: the body of the answer; '' where it cannot be read.
        body: what the ended job carried; '' where it cannot be read.
        raw: the same, where it is no JSON.
        job_id: the ended job.
        biz_type: its biz type, which has masked fields.
        to: that of the job that follows; None where there is none.
        within: the pointer to where the answer will stand in its body.
    """
    others = [] if to is None else to.masked_fields
    open_to_all = not_masked_by(biz_type.masked_fields, others, within=within)
    if answer and open_to_all:
        answer = Masks(biz_type, made_at=_made_at(job_id), pointers=open_to_all).shown(answer)
    hide = Masks(biz_type, made_at=_made_at(job_id)).hiding(body) if body and raw is None else hide_all
    return hide_but(answer, hide, others=others, within=within) if answer else ""


def hidden_by(job: RunningJob, *, using: str) -> Hide | None:
    """What puts masks into texts that come back from the job's receiver, task or puller; None where it has none."""
    row = job.row
    masks = _masks_of(row, job.biz_type)
    if masks is None:
        return None
    if row.body and job.is_closed:
        return None  # no key opened it, so it was sent to nobody: the texts are our own
    body: str = row.body
    raw: object = row.raw
    if not body:  # a puller's claim, or a task that ran into its hard time limit
        found = Job.objects.using(using).filter(id=row.id).only("biz_type_id", "body", "raw", "request").first()
        if found is not None and found.blank_unreadable():
            return hide_all  # its values cannot be read
        body, raw = ("null", None) if found is None else (found.body, found.raw)
    return masks.hiding(body) if raw is None else hide_all


def hide_in(finished: Finished, hide: Hide) -> Finished:
    """The outcome with masks in the texts that came back from the receiver, task or puller."""
    tried = finished.tried and _hidden(finished.tried, hide)
    return finished._replace(last_error=hide(finished.last_error), tried=tried)


def _hidden(tried: Tried, hide: Hide) -> Tried:
    assert not isinstance(tried.response_headers, str)  # outcomes are encrypted after this
    headers = {name: hide(value) for name, value in tried.response_headers.items()}
    body, error = hide(tried.response_body), hide(tried.error)
    return tried._replace(response_headers=headers, response_body=body, error=error)


def _masks_of(row: Job | ClaimedJob | Series, biz_type: BizType) -> Masks | None:
    if not biz_type.masked_fields:
        return None
    return Masks(biz_type, made_at=row.created_at if isinstance(row, Series) else _made_at(row.id))


def _made_at(job_id: UUID) -> datetime:
    return moment(made_at_ms(job_id))
