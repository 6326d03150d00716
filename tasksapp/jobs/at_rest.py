"""What jobs carry as it is stored: encrypted where their biz type, or what they follow, asks for that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from tasksapp.jobs.attempt_headers import CLAIM
from tasksapp.jobs.requests import Accepted
from tasksapp.models import Attempt, Job
from tasksapp.models.attempt import attempt_place
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.new_job import sealed_job
from tasksapp.models.sealable import stored
from tasksapp.models.sealed_value import MARK, Tampered, is_sealed, open_text, seal_short, seal_text
from tasksapp.sql.finished import Finished

#: The columns of an attempt that are encrypted with its job: what is kept of an exchange; of most attempts, nothing.
EXCHANGED = ("request_line", "response_body", "request_headers", "response_headers", "error")


def at_rest(requests: Iterable[Accepted]) -> list[Accepted]:
    """The requests with their rows as they are stored."""
    return [each._replace(row=sealed_job(each.row)) if each.is_sealed else each for each in requests]


def seal_replaced(requests: Iterable[Accepted], became: Mapping[UUID, UUID], *, using: str) -> None:
    """Encrypts for their rows what now stands in the rows of other jobs, in the transaction that put it there.

    Args:
        requests: as they were asked.
        became: by the id that each was to have, that of the job that has its content.
        using: the database.
    """
    for request in requests:
        job_id = became[request.row.id]
        if request.is_sealed and job_id != request.row.id:
            row = sealed_job(request.row._replace(id=job_id))
            Job.objects.using(using).filter(id=job_id).update(body=row.body, raw=row.raw, request=row.request)


def outcome_at_rest(finished: Finished, *, place: str) -> Finished:
    """The outcome of an encrypted job, with what was sent, answered and said encrypted.

    Args:
        finished: the outcome.
        place: that of the job's row.
    """
    last_error, tried = seal_short(finished.last_error, place=f"{place}/last_error"), finished.tried
    if tried is not None and any(getattr(tried, name) for name in EXCHANGED):
        tried = tried._replace(**_exchange(tried._asdict(), place=attempt_place(finished.job_id, tried.number)))
    return finished._replace(last_error=last_error, tried=tried)


def said_at_rest(job: Job, *, using: str) -> dict[str, Any]:
    """Encrypts the attempts of a job that is to be encrypted; gives back what its row says of them, by its columns."""
    for attempt in Attempt.objects.using(using).filter(job_id=job.id):
        columns = _exchange(vars(attempt), place=attempt.seal_place, is_stored=True)
        Attempt.objects.using(using).filter(pk=attempt.pk).update(**columns)
    said, place = stored(job, "last_error"), f"{job.seal_place}/last_error"
    return {"last_error": said if _is_encrypted(said, place=place) else seal_short(said, place=place)}


def _exchange(values: Mapping[str, Any], *, place: str, is_stored: bool = False) -> dict[str, Any]:
    """What was sent, answered and said, by its columns; what is empty stays as it is, and what is encrypted already.

    Args:
        values: by column.
        place: that of the attempt.
        is_stored: whether they are a row's, some of which may be encrypted. Others may begin as those do: receivers
            and pullers wrote them.
    """
    sealed: dict[str, Any] = {}
    for name in EXCHANGED:
        value, at = values[name], f"{place}/{name}"
        if not value or is_claim(name, value) or (is_stored and _is_encrypted(value, place=at)):
            sealed[name] = value
        elif name == "error":
            sealed[name] = seal_short(value, place=at)
        else:
            sealed[name] = seal_text(value if isinstance(value, str) else json.dumps(value), place=at)
    return sealed


def is_claim(column: str, value: Any) -> bool:
    """Whether that is a puller's claim, which is found again by the mark of its token, and says nothing else."""
    return column == "request_headers" and isinstance(value, Mapping) and CLAIM in value


def _is_encrypted(value: Any, *, place: str) -> bool:
    """Whether what a row has there was encrypted for that place, by whichever key."""
    if not isinstance(value, str) or not is_sealed(value):
        return False
    try:
        open_text(value, place=place)
    except Tampered:
        return False
    except SecretUnreadable:
        pass
    return value != MARK
