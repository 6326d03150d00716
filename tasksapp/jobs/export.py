"""Export: the jobs of a list with their bodies, as lines of JSON or as CSV, page by page and never all at once."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Any
from weakref import finalize

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import DatabaseError, router
from django.http import HttpRequest, StreamingHttpResponse

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.jobs.exact_bytes import shown_bytes
from tasksapp.jobs.export_slots import export_slots
from tasksapp.jobs.listing import JobList, Page, Position
from tasksapp.jobs.masking import as_shown
from tasksapp.jobs.own_request_rule import shown_request
from tasksapp.models import AuditEntry, BizType, Job

logger = logging.getLogger(__name__)

#: Jobs that are read at once: so many, and fewer where their bodies are larger than that together.
MOST_JOBS, PAGE_BYTES = 500, 2_000_000
#: How much is given to the web server at once. granian keeps five such parts of each answer that is not being read.
PART_BYTES = 65_536
#: How long the database may look for a page. What no index leads to in that time is refused, as a list is.
SECONDS = 20.0
#: The columns that are exported as they are stored, beside the id, the biz type and the body.
COLUMNS = (
    "status", "biz_id", "flow_key", "due_at", "next_run_at", "expires_at", "priority", "max_attempts", "attempts",
    "redrives", "system_errors", "version", "last_error", "error_class", "debounce_key", "series_id", "occurrence_at",
    "place", "created_by", "changed_by", "created_at", "updated_at", "finished_at",
)  # fmt: skip
#: All of them, in their order.
FIELDS = ("id", "biz_type", *COLUMNS, "request", "body", "body_text", "body_base64", "content_type")
#: Line breaks and tabs of a body that was written in several lines. In JSON they stand between its parts only.
_IN_ONE_LINE = str.maketrans("\t\r\n", "   ")
#: With one of these a text is a formula to programs for tables, which run it.
_SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"  # the last four are those of full width
_FORMULA = (*_SIGNS, *"\t\r\n")
#: Where such a program splits lines at semicolons or tabs, as it does in half of Europe, a text has several cells. It
#: knows no quotes within a cell then, so a line break begins another line.
_IN_NEXT_CELL = re.compile(f'([;\t\r\n][ "]*)([{re.escape(_SIGNS)}])')

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


#: What a biz type is called in an export.
Named = Callable[[BizType], str]


def ndjson(jobs: Sequence[Job], named: Named) -> str:
    """The jobs as lines of JSON; a body is JSON as it was written, in one line."""
    return "".join(f"{_encode(_values(job, named))[:-1]},{_body(job)}}}\n" for job in map(as_shown, jobs))


def csv_lines(jobs: Sequence[Job], named: Named) -> str:
    """The jobs as lines of CSV (RFC 4180); no cell is a formula."""
    return _csv([_cells(job, named) for job in map(as_shown, jobs)])


#: By the name of a format: its content type, what comes before the first job, and what makes text of jobs.
FORMATS: Mapping[str, tuple[str, Callable[[], str], Callable[[Sequence[Job], Named], str]]] = {
    "ndjson": ("application/x-ndjson", str, ndjson),
    "csv": ("text/csv; charset=utf-8", lambda: _csv([FIELDS]), csv_lines),
}


class Export:
    """The text of an export, part by part. It is recorded when it begins, and how many rows it had when it ends.

    A page is read when the one before was taken, in a transaction of its own: no lock and no snapshot is held, and when
    the client goes away nothing more is read. A job that changes meanwhile is exported as it is when its page is read.

    Args:
        listed: the jobs, in an order that an index has.
        kind: one of ``FORMATS``.
        by: who exports them.
        asked: the filter, for the audit.
        named: what its reader calls biz types: by their labels, or, who knows one tenant only, by their codes.

    Raises TookTooLong where no index leads to the first page in time.
    """

    def __init__(
        self,
        listed: JobList,
        kind: str,
        *,
        by: Actor,
        asked: Mapping[str, Any],
        named: Named = attrgetter("label"),
    ) -> None:
        self._named = named
        self._listed = replace(listed, with_bodies=True, seconds=SECONDS)
        _, self._head, self._write = FORMATS[kind]
        self._parts = self._written(self._page())
        self._rows, self._has_ended = 0, False
        self._using = router.db_for_write(AuditEntry)
        about = next((each.pk for each in listed.biz_types if each.label == listed.job_filter.biz_type), None)
        self._entry = audit.entry(
            Deed.EXPORT, by=by, biz_type_id=about, what=kind, after={"format": kind, "filter": dict(asked)}
        )
        self._entry.save(using=self._using)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._parts)

    def close(self) -> None:
        """Ends it where it is, and records that it is not whole. After its end this does nothing."""
        self._parts.close()
        self._end(is_whole=False)

    def _page(self, after: Position | None = None) -> Page:
        return self._listed.page(after=after, limit=MOST_JOBS, most_bytes=PAGE_BYTES)

    def _written(self, page: Page) -> Generator[bytes]:
        text = self._head()
        while True:
            self._learn_masks()
            text += self._write(page.jobs, self._named)
            self._rows += len(page.jobs)
            after = page.next
            del page  # while the next one is read there is no other in memory
            if text:
                yield text.encode()
            if after is None:
                break
            text = ""
            page = self._page(after)
        self._end(is_whole=True)

    def _learn_masks(self) -> None:
        """Masks what is masked by now: an export may take hours."""
        rows = BizType.objects.using(self._listed.database)
        masked = dict(rows.exclude(masked_fields=[]).values_list("pk", "masked_fields"))
        for biz_type in self._listed.biz_types:
            biz_type.masked_fields = masked.get(biz_type.pk, [])

    def _end(self, *, is_whole: bool) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        after = {**self._entry.after, "rows": self._rows, "whole": is_whole}
        try:
            AuditEntry.objects.using(self._using).filter(pk=self._entry.pk).update(after=after)
        except DatabaseError as error:
            told = "the audit keeps that an export by %s began, and not its %d rows: %s"
            logger.warning(told, self._entry.actor, self._rows, error, extra={"action": "export"})


def sent(request: HttpRequest, begin: Callable[[], Export], *, kind: str, holder: str) -> StreamingHttpResponse:
    """Return the answer that sends an export as a file, as it is read; it has one of the process's few slots.

    Raises TooManyExports, and what ``begin`` raises.

    Args:
        request: who asks for it.
        begin: makes the export, once there is a slot.
        kind: one of ``FORMATS``.
        holder: the caller whose share of the slots it takes.
    """
    leave = export_slots.take(holder)
    try:
        return streamed(request, begin(), kind=kind, closed=leave)
    except BaseException:
        leave()
        raise


def streamed(
    request: HttpRequest, export: Export, *, kind: str, closed: Callable[[], object] = lambda: None
) -> StreamingHttpResponse:
    """Return the answer that sends the export as a file, as it is read; ``closed`` is called when that is over."""
    # Django would read all of a plain iterator before it answers under ASGI.
    parts = Sent(export, closed)
    content: Any = Awaited(parts) if isinstance(request, ASGIRequest) else parts
    answer = StreamingHttpResponse(content, content_type=FORMATS[kind][0])
    answer.headers["Content-Disposition"] = f'attachment; filename="jobs.{kind}"'
    answer.headers["X-Accel-Buffering"] = "no"
    return answer


class Sent:
    """An export as an answer sends it, in small parts: servers keep several that the client has not read yet."""

    def __init__(self, export: Export, closed: Callable[[], object]) -> None:
        self._export, self._closed = export, closed
        self._parts = _cut(export)
        finalize(self, closed)  # also where a server or a middleware drops the answer and does not close it

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def close(self) -> None:
        """End it where it is."""
        try:
            self._parts.close()
            self._export.close()
        finally:
            self._closed()


def _cut(export: Export) -> Generator[bytes]:
    for page in export:
        for begin in range(0, len(page), PART_BYTES):
            yield page[begin : begin + PART_BYTES]


class Awaited:
    """The same parts for an answer under ASGI, which closes the export when it is over, also when the client has gone.

    Not in a generator's ``finally``: where an answer stops, that runs later or never, and not in the request's thread.
    """

    def __init__(self, sent: Sent) -> None:
        self._parts, self.close = iter(sent), sent.close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        # In the thread of the request's other code, which has the connection.
        following = sync_to_async(lambda: next(self._parts, None), thread_sensitive=True)
        while (part := await following()) is not None:
            yield part


def _values(job: Job, named: Named) -> dict[str, Any]:
    found = {"id": str(job.id), "biz_type": named(job.biz_type)}
    return found | {name: _json(getattr(job, name)) for name in COLUMNS} | {"request": shown_request(job.request)}


def _body(job: Job) -> str:
    exact = _encode(shown_bytes(job.raw, job.request)._asdict())
    return f'"body":{job.body.translate(_IN_ONE_LINE)},{exact[1:-1]}'


def _json(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


def _cells(job: Job, named: Named) -> list[Any]:
    exact = shown_bytes(job.raw, job.request)._asdict()
    values = {**_values(job, named), "body": "" if job.raw is not None else _no_formula_in_json(job.body), **exact}
    return [_cell(values[name]) for name in FIELDS]


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return _no_formula_in_json(_encode(value))
    if not isinstance(value, str):
        return value
    text = _IN_NEXT_CELL.sub(r"\1'\2", value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _no_formula_in_json(text: str) -> str:
    """The same JSON in one line: semicolons stand in its strings only, where a sign may be written by its number."""
    return _IN_NEXT_CELL.sub(lambda found: f"{found[1]}\\u{ord(found[2]):04x}", text.translate(_IN_ONE_LINE))


def _csv(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
