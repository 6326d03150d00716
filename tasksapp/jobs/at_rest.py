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
from tasksapp.models.new_job import sealed_job
from tasksapp.models.sealable import stored
from tasksapp.models.sealed_value import is_sealed, seal_short, seal_text
from tasksapp.sql.finished import Finished

#: What is kept of an exchange; of most attempts, nothing.
_EXCHANGED = ("request_line", "response_body", "request_headers", "response_headers", "error")


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
    if tried is not None and any(getattr(tried, name) for name in _EXCHANGED):
        sealed = _exchange(tried._asdict(), place=attempt_place(finished.job_id, tried.number))
        tried = tried._replace(**sealed)
    return finished._replace(last_error=last_error, tried=tried)


def said_at_rest(job: Job, *, using: str) -> dict[str, Any]:
    """Encrypts the attempts of a job that is to be encrypted; gives back what its row says of them, by its columns."""
    for attempt in Attempt.objects.using(using).filter(job_id=job.id):
        columns = _exchange(vars(attempt), place=attempt.seal_place)
        Attempt.objects.using(using).filter(pk=attempt.pk).update(**columns)
    return {"last_error": _short(stored(job, "last_error"), place=f"{job.seal_place}/last_error")}


def _exchange(values: Mapping[str, Any], *, place: str) -> dict[str, Any]:
    """What was sent, answered and said, by its columns; what is empty or encrypted stays as it is."""
    sealed: dict[str, Any] = {"error": _short(values["error"], place=f"{place}/error")}
    for name in _EXCHANGED[:-1]:
        value = values[name]
        # A claim is found again by the mark of its token, which says nothing else.
        is_open = not value or is_sealed(value) or (isinstance(value, Mapping) and CLAIM in value)
        text = value if isinstance(value, str) else json.dumps(value)
        sealed[name] = value if is_open else seal_text(text, place=f"{place}/{name}")
    return sealed


def _short(text: str, *, place: str) -> str:
    return text if is_sealed(text) else seal_short(text, place=place)
