"""What a caller asks of the list of jobs: filters, order, a text in bodies, and where the page begins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import override

from delayhub.api_models.problems import FieldError
from tasksapp.api.http.problems import Refused, refused
from tasksapp.errors import InvalidJob
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.listing import JobList, Position
from tasksapp.models import FINISHED, BizType, Status
from tasksapp.models.job_id import first_id_at

#: Jobs on a page.
USUAL_LIMIT, MOST_JOBS = 100, 1_000
#: Jobs that a search in bodies gives.
MOST_FOUND = 100
MOST_TEXT = 200
#: By the time they were made, by the time they run, and by the time they ended. An index has each of them.
BY_ID, BY_NEXT, BY_END = "-id", "next_run_at", "-finished_at"
ORDERS = (BY_ID, BY_NEXT, BY_END, "finished_at")

_RANGES = ("due", "next", "ended", "occurrence")
_TIMES = tuple(f"{name}_{end}" for name in _RANGES for end in ("from", "until"))
_CREATED = ("created_from", "created_until")
_FILTERS = ("biz_type", "biz_id", "flow_key", "error_class", "operation", "series", *_TIMES)
_SEVERAL = ("status", "ids")
_KNOWN = {*_FILTERS, *_SEVERAL, *_CREATED, "order", "body", "cursor", "limit", "format"}
_LONGEST = {"flow_key": 100, "error_class": 40, "body": MOST_TEXT}
#: An id's own time and the column ``created_at`` are this close: one clock gives both.
_SLACK = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class JobQuery:
    """A page of jobs that a caller asks for.

    Args:
        job_filter: which jobs.
        statuses: where they stand; empty for any.
        created: when they were made; the first is part of the range, the second is not.
        order: one of ``ORDERS``.
        body: a text that bodies hold; '' where none is looked for.
        after: where the page begins; None for the first one.
        limit: how many jobs it has at most.
    """

    job_filter: JobFilter
    statuses: tuple[Status, ...] = ()
    created: tuple[datetime | None, datetime | None] = (None, None)
    order: str = BY_ID
    body: str = ""
    after: Position | None = None
    limit: int = USUAL_LIMIT

    @classmethod
    def parse(cls, params: QueryDict, *, dead: bool) -> JobQuery:
        """What the query of an address asks for. Raises Refused (400), which names every parameter that cannot be.

        Args:
            params: the query.
            dead: whether only dead jobs are asked for; their order is that of their deaths.
        """
        _check(params, known=_KNOWN - {"status", "order"} if dead else _KNOWN)
        given: dict[str, Any] = params.dict()
        try:
            with override("en"):  # as the rest of the API, whatever language the project has
                if "ids" in params:
                    given["ids"] = params.getlist("ids")
                wanted = JobFilter.parse({name: given[name] for name in (*_FILTERS, "ids") if name in given})
                statuses = [JobFilter.parse({"status": one}).status for one in params.getlist("status")]
                # Read as a time of a filter is, and refused under its own name.
                created = [_time(name, given.get(name)) for name in _CREATED]
        except InvalidJob as error:
            raise refused(error.field, error.code, error.message) from None
        stands = (Status.DEAD,) if dead else tuple(one for one in Status if one in statuses)
        body = given.get("body", "")
        order = given.get("order") or _usual_order(stands, dead=dead, body=body)
        return cls(
            job_filter=wanted, statuses=stands, created=(created[0], created[1]), order=order, body=body,
            after=_cursor(given.get("cursor"), order=order), limit=_limit(given.get("limit")),
        )._checked()  # fmt: skip

    def list_of(self, biz_types: Iterable[BizType], *, using: str) -> JobList:
        """The list that has the page, of jobs of these biz types."""
        kinds = list(biz_types)
        # Callers name biz types by their codes, filters by their labels, which name the tenant too.
        labels = {kind.code: kind.label for kind in kinds}
        wanted = replace(self.job_filter, biz_type=labels.get(self.job_filter.biz_type, self.job_filter.biz_type))
        condition = Q(biz_type_id__in=[kind.pk for kind in kinds])
        begin, end = self.created
        if begin is not None:
            condition &= Q(created_at__gte=begin, id__gte=_id_at(begin - _SLACK))
        if end is not None:
            condition &= Q(created_at__lt=end, id__lt=_id_at(end + _SLACK))
        return JobList(
            job_filter=wanted, statuses=self.statuses, order=self.order, biz_types=kinds, using=using,
            condition=condition, with_bodies=True,
        )  # fmt: skip

    def _checked(self) -> JobQuery:
        is_over = bool(self.statuses) and set(self.statuses) <= set(FINISHED)
        if self.order not in ORDERS:
            raise refused("order", "invalid", f"order must be one of {', '.join(ORDERS)}")
        if self.order == BY_NEXT and self.statuses != (Status.PENDING,):
            raise refused("order", "invalid", f"order={BY_NEXT} is for status=pending")
        if self.order.endswith("finished_at") and not is_over:
            raise refused("order", "invalid", f"order={self.order} is for a status in which jobs are finished")
        if not self.body:
            return self
        if not self.job_filter.biz_type or self.order == BY_ID:
            text = "body needs a biz_type, and a status: pending, or one in which jobs are finished"
            raise refused("body", "too_wide", text)
        if self.after is not None:
            raise refused("cursor", "invalid", "a search in bodies has one page only")
        return replace(self, limit=min(self.limit, MOST_FOUND))


def cursor_of(position: Position) -> str:
    """How the next page is named in its address."""
    if position.moment is None:
        return str(position.id)
    return f"{position.moment.astimezone(UTC).isoformat().replace('+00:00', 'Z')}~{position.id}"


def _check(params: QueryDict, *, known: Iterable[str]) -> None:
    """Refuses names that do not exist, values that are empty, and two values where one is expected."""
    errors = []
    for name, values in params.lists():
        if name not in known:
            errors.append(FieldError(name[:100], "unknown", f"there is no filter {name[:100]!r}"))
        elif not all(values) or any("\0" in value for value in values):
            errors.append(FieldError(name, "invalid", f"{name} may not be empty, or hold the character NUL"))
        elif len(values[0]) > _LONGEST.get(name, 5_000):
            errors.append(FieldError(name, "too_long", f"{name} may have {_LONGEST.get(name, 5_000)} characters"))
        elif len(values) > 1 and name not in _SEVERAL:
            errors.append(FieldError(name, "invalid", f"{name} may be given once"))
    if errors:
        raise Refused.of("invalid", errors[0].message, errors=errors[:20])


def _time(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return JobFilter.parse({"due_from": text}).due_from
    except InvalidJob as error:
        raise InvalidJob(name, error.code, error.message) from None


def _usual_order(statuses: tuple[Status, ...], *, dead: bool, body: str) -> str:
    if body and statuses == (Status.PENDING,):
        return BY_NEXT
    if dead or (body and statuses and set(statuses) <= set(FINISHED)):
        return BY_END
    return BY_ID


def _limit(text: str | None) -> int:
    if text is None:
        return USUAL_LIMIT
    if not (len(text) <= 9 and text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_JOBS):
        raise refused("limit", "invalid", f"limit must be a whole number from 1 to {MOST_JOBS}, got {text[:20]!r}")
    return int(text)


def _cursor(text: str | None, *, order: str) -> Position | None:
    if text is None:
        return None
    try:
        if order == BY_ID:
            return Position(None, UUID(text))
        time, _, job_id = text.partition("~")
        return Position(_time("cursor", time or "none"), UUID(job_id))
    except (ValueError, InvalidJob):
        message = "cursor must come from `next` of an earlier page of the same list"
        raise refused("cursor", "invalid", message) from None


def _id_at(moment: datetime) -> UUID:
    return first_id_at(max(0, int(moment.timestamp() * 1000)))
