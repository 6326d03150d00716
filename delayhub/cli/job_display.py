"""How jobs and attempts are shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from delayhub.cli.output import coloured
from delayhub.cli.times import NO_TIME, relative, shown
from delayhub.client import Attempt, Job
from delayhub.job_fields import Carries

JOB_COLUMNS = ("id", "biz type", "biz id", "status", "runs next", "#attempts", "last error")
ATTEMPT_COLUMNS = ("#number", "started", "#took ms", "#late ms", "answer", "error", "worker")
#: How much of an error a row of a list shows.
_ERROR = 60
#: What a job carries and is not shown as it is.
_SHOWN_APART = frozenset({"biz_id", "body", "body_text", "body_base64", "request", "max_attempts"})


def job_row(job: Job) -> Sequence[Any]:
    """The cells of a job in a list."""
    runs = relative(job.finished_at) if job.finished_at else relative(job.next_run_at)
    error = job.last_error if len(job.last_error) <= _ERROR else f"{job.last_error[: _ERROR - 1]}…"
    when = f"ended {runs}" if job.finished_at else runs
    return job.id, job.biz_type, job.biz_id, coloured(job.status), when, job.attempts, error


def job_details(job: Job) -> list[tuple[str, Any]]:
    """Everything of a job, by names."""
    most = "as its biz type says" if job.max_attempts is None else f"{job.max_attempts:,}"
    details: list[tuple[str, Any]] = [
        ("id", job.id),
        ("biz type", job.biz_type),
        ("biz id", job.biz_id),
        ("status", coloured(job.status)),
        ("due", shown(job.due_at)),
        ("runs next", None if job.has_ended else shown(job.next_run_at)),
        ("ended", shown(job.finished_at)),
        ("attempts", f"{job.attempts:,} (at most: {most})"),
        ("last error", job.last_error),
        ("expires", shown(job.expires_at)),
        ("debounce key", job.debounce_key),
        *carried(job),
        ("redrives", job.redrives or None),
        ("system errors", job.system_errors or None),
        ("version", str(job.version)),
        ("created", shown(job.created_at)),
        ("changed", shown(job.updated_at)),
        ("body", shown_body(job)),
    ]
    # What most jobs do not have is not shown where it is empty.
    rare = {"expires", "debounce key", "redrives", "system errors", "last error", "ended", "runs next"}
    return [(name, value) for name, value in details if name not in rare or value not in (None, "", NO_TIME)]


def carried(row: Carries) -> list[tuple[str, Any]]:
    """What a job or a series carries beside its biz id and its body, by names, as far as it has it."""
    named = {each.name: getattr(row, each.name) for each in fields(Carries) if each.name not in _SHOWN_APART}
    if row.request is not None:
        named["own request"] = json.dumps(row.request, ensure_ascii=False)
    return [(name.replace("_", " "), value) for name, value in named.items() if value not in (None, "")]


def shown_body(job: Carries) -> str:
    """The body as JSON, as a text, or of other bytes how many they are."""
    if job.raw is None:
        return json.dumps(job.body, ensure_ascii=False)
    return f"{len(job.raw):,} bytes" if job.body_text is None else job.body_text


def attempt_row(attempt: Attempt) -> Sequence[Any]:
    """The cells of an attempt."""
    answer = "" if attempt.status_code is None else str(attempt.status_code)
    return (
        *(attempt.number, shown(attempt.started_at), attempt.duration_ms, attempt.lateness_ms),
        *(answer, attempt.error, attempt.worker),
    )
