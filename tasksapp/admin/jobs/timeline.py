"""The timeline of a job: what was done to it, its attempts, and how it stands, the first first."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.admin.audit.words import Change, changes_of, deed_label
from tasksapp.admin.frame.fragments import duration
from tasksapp.admin.frame.masking import hidden, masked_body, may_see_bodies
from tasksapp.admin.jobs.columns import shown_error
from tasksapp.biz_types.sample_call import usual_line
from tasksapp.jobs.attempt_headers import REQUEST_ID, attempt_headers, remark, was_pulled
from tasksapp.jobs.exact_bytes import written_body
from tasksapp.jobs.masking import as_shown
from tasksapp.models import Attempt, AuditEntry, Job, Status

#: Attempts of one page, and entries of the audit that it shows.
PAGE_ATTEMPTS, MOST_ENTRIES = 100, 100
#: What the records of attempts have in place of secrets, and what a person is to replace.
_MASK, _PLACEHOLDER = "(hidden)", "<SECRET>"
#: So many bytes stand in a command; more come from a file.
MOST_PIPED = 4_096
_BREAK = " \\\n  "
#: curl makes these itself.
_MADE_BY_CURL = {"host", "content-length", "accept-encoding"}


class Exchange(NamedTuple):
    """What was sent and answered in an attempt, as far as the person may see it."""

    request_line: str
    request_headers: list[tuple[str, str | SafeString]]
    status_code: int | None
    response_headers: list[tuple[str, str | SafeString]]
    response_body: SafeString | None
    curl: str
    #: Of a job that was pulled: by whom, and by which request that ended.
    puller: str = ""
    request_id: str = ""


class Event(NamedTuple):
    """A point of the timeline.

    Args:
        at: when.
        text: what happened.
        kind: ``ok``, ``bad`` or ``next``, which colour it; '' for none.
        detail: a line below it.
        changes: what a person changed.
        exchange: of an attempt that called a receiver.
        number: that of the attempt.
    """

    at: datetime | None
    text: str
    kind: str = ""
    detail: str = ""
    changes: Sequence[Change] = ()
    exchange: Exchange | None = None
    number: int = 0


class Timeline(NamedTuple):
    """Points in order, and the number of the attempt before which older ones are; None where these are all."""

    events: list[Event]
    older: int | None


def read_timeline(request: HttpRequest, job: Job, *, before: int | None) -> Timeline:
    """The timeline with the last attempts, or those before that number; two queries.

    Args:
        request: of the person, whose rights decide what is shown.
        job: the job.
        before: the number of an attempt; None for the last ones.
    """
    rows = Attempt.objects.filter(job_id=job.id, **({} if before is None else {"number__lt": before}))
    attempts = list(rows.order_by("-number")[: PAGE_ATTEMPTS + 1])
    older = attempts[PAGE_ATTEMPTS - 1].number if len(attempts) > PAGE_ATTEMPTS else None
    entries = AuditEntry.objects.filter(job_id=job.id).order_by("-id")[:MOST_ENTRIES]
    events = [_deed(request, entry) for entry in entries]
    events += [_attempt(request, job, attempt) for attempt in attempts[:PAGE_ATTEMPTS]]
    events.sort(key=lambda event: event.at or job.created_at)
    born = _("created by %(actor)s") % {"actor": job.created_by} if job.created_by else _("created")
    return Timeline([Event(job.created_at, born), *events, _last(request, job, attempts[:1])], older)


def _deed(request: HttpRequest, entry: AuditEntry) -> Event:
    text = _("%(deed)s by %(actor)s") % {"deed": deed_label(entry.verb), "actor": entry.actor}
    return Event(entry.at, text, detail=entry.reason, changes=changes_of(request, entry))


def _attempt(request: HttpRequest, job: Job, attempt: Attempt) -> Event:
    outcome = str(attempt.status_code or (_("failed") if attempt.error else _("done")))
    text = _("attempt %(number)d: %(outcome)s after %(time)s") % {
        "number": attempt.number,
        "outcome": outcome,
        "time": duration(ms=attempt.duration_ms),
    }
    sees = may_see_bodies(request)
    # The kind is known of the job's last error only.
    said = attempt.error or remark(attempt)
    detail = shown_error(said, sees_bodies=sees)
    is_call = bool(attempt.request_line or attempt.status_code)
    exchange = _exchange(request, job, attempt, sees=sees) if is_call else None
    values = {
        "time": duration(ms=max(0, attempt.lateness_ms)),
        "worker": attempt.worker or _("an unknown worker"),
    }
    late = _("%(time)s late, by %(worker)s") if was_pulled(attempt) else _("%(time)s late, on %(worker)s")
    return Event(
        attempt.started_at,
        text,
        "bad" if attempt.error else "ok",
        " · ".join(filter(None, (detail, late % values))),
        exchange=exchange,
        number=attempt.number,
    )


def _exchange(request: HttpRequest, job: Job, attempt: Attempt, *, sees: bool) -> Exchange:
    if was_pulled(attempt):
        return _pulled(request, attempt)
    sent = attempt_headers(attempt)
    line = attempt.request_line
    # A URL of the job's own may hold what its body does; that it has none now says nothing of what was sent then.
    is_shown = sees or not line or line == usual_line(job.biz_type)
    return Exchange(
        request_line=line if is_shown else hidden(line),
        request_headers=_headers(sent, sees=sees),
        status_code=attempt.status_code,
        response_headers=_headers(attempt.response_headers, sees=sees),
        response_body=masked_body(request, attempt.response_body) if attempt.response_body else None,
        curl=curl(attempt.request_line, sent, _sent_body(job)) if sees else "",
    )


def _sent_body(job: Job) -> str | bytes:
    job = as_shown(job)
    text = written_body(job)
    return bytes(job.raw or b"") if text is None else text


def _pulled(request: HttpRequest, attempt: Attempt) -> Exchange:
    return Exchange(
        request_line="",
        request_headers=[],
        status_code=None,
        response_headers=[],
        response_body=masked_body(request, attempt.response_body) if attempt.response_body else None,
        curl="",
        puller=attempt.worker,
        request_id=str(attempt.response_headers.get(REQUEST_ID, "")),
    )


def _headers(headers: Mapping[str, str], *, sees: bool) -> list[tuple[str, str | SafeString]]:
    return [(name, str(value) if sees else hidden(str(value))) for name, value in headers.items()]


def _last(request: HttpRequest, job: Job, latest: Sequence[Attempt]) -> Event:
    values = {"number": job.attempts_used + 1}
    match job.status:
        case Status.PENDING:
            # A job that was snoozed or given back has no attempt that says why.
            why = "" if latest and latest[0].error == job.last_error else job.last_error
            why = shown_error(why, sees_bodies=may_see_bodies(request), error_class=job.error_class)
            return Event(job.next_run_at, _("next: attempt %(number)d") % values, "next", why)
        case Status.RUNNING:
            return Event(job.updated_at, _("running"), "next")
        case Status.SUCCEEDED:
            return Event(job.finished_at, _("succeeded"), "ok")
        case Status.DEAD:
            return Event(job.finished_at, _("dead"), "bad")
    return Event(job.finished_at, job.get_status_display())


def curl(line: str, headers: Mapping[str, str], body: str | bytes) -> str:
    """The command; '' for an attempt whose request is not known. Bytes that are no text are piped into it."""
    method, _blank, url = line.partition(" ")
    if not url:
        return ""
    parts = [f"curl -X {shlex.quote(method)} {shlex.quote(url.replace(_MASK, _PLACEHOLDER))}"]
    parts += [
        f"-H {shlex.quote(f'{name}: {value}'.replace(_MASK, _PLACEHOLDER))}"
        for name, value in headers.items()
        if name.lower() not in _MADE_BY_CURL
    ]
    if isinstance(body, str):
        return _BREAK.join([*parts, f"--data-raw {shlex.quote(body)}"])
    piped = f"echo {b64encode(body).decode()} | base64 -d |" if len(body) <= MOST_PIPED else "cat body.bin |"
    return _BREAK.join([piped, *parts, "--data-binary @-"])
