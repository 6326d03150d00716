"""Creating jobs of biz types that keep one live job of each biz id: created, put in its place, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tasksapp.errors import OneIsLive
from tasksapp.jobs.requests import Accepted
from tasksapp.models import BizType
from tasksapp.sql.claim_keys import repoint_key, unclaim_key
from tasksapp.sql.insert_live_jobs import LiveJob, insert_live_jobs


class LiveWriting(NamedTuple):
    """What became of requests, by the ids of their rows.

    Args:
        made: the rows that are new jobs.
        moved: those whose content a live job has now, with its id and when it runs.
        refused: those that are refused.
    """

    made: set[UUID]
    moved: dict[UUID, LiveJob]
    refused: dict[UUID, OneIsLive]


def keeps_one(request: Accepted) -> bool:
    """Whether the request is for a biz type that keeps one live job of its biz id."""
    return request.biz_type.one_live != BizType.OneLive.ANY and request.row.biz_id != ""


def write_live(requests: Sequence[Accepted], *, now: datetime, using: str, created_by: str) -> LiveWriting:
    """Writes the jobs of the requests, in the caller's transaction.

    Args:
        requests: those that ``keeps_one`` holds for.
        now: when they are created.
        using: the database.
        created_by: who creates them.
    """
    became: dict[UUID, LiveJob] = {}
    for choice in BizType.OneLive:
        rows = [one.row for one in requests if one.biz_type.one_live == choice]
        if rows:
            became |= insert_live_jobs(rows, choice, now=now, using=using, created_by=created_by)
    outcome = LiveWriting(set(), {}, {})
    for request in requests:
        _note(outcome, request, became.get(request.row.id), using=using)
    return outcome


def _note(outcome: LiveWriting, request: Accepted, job: LiveJob | None, *, using: str) -> None:
    row = request.row
    if job is not None and job.job_id == row.id:
        outcome.made.add(row.id)
        return
    if job is not None and job.is_written:
        outcome.moved[row.id] = job
        if request.key is not None:
            repoint_key(row.biz_type_id, request.key, job.job_id, using=using)
        return
    outcome.refused[row.id] = OneIsLive(request.biz_type.code, row.biz_id, None if job is None else job.job_id)
    if request.key is not None:
        # The same request may be sent again, once the live job has ended.
        unclaim_key(row.biz_type_id, request.key, job_id=row.id, using=using)
