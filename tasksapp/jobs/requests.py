"""What callers ask for: a job's fields, each declared once with its rule, and the rows that are asked for by them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from math import ceil
from operator import attrgetter
from typing import Annotated, Any, ClassVar, NamedTuple
from uuid import UUID

from tasksapp.access.quotas import Quota, no_more_jobs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.insert_limit import InsertLimit, allow_inserts
from tasksapp.biz_types.visible import OWN_REACH, Reach, refuse_moving
from tasksapp.errors import InvalidJob, JobError, UnknownBizType
from tasksapp.jobs.exact_bytes import ContentType, ExactBytes, content_type_of, with_content_type
from tasksapp.jobs.masking import refuse_masks
from tasksapp.jobs.own_request_rule import RequestOfItsOwn, StoredRequest, asked_request, fitted
from tasksapp.jobs.validation import (
    Body,
    Code,
    Face,
    FlowKey,
    Key,
    Line,
    Moment,
    Seconds,
    TraceContext,
    Whole,
    due_time,
    rules_of,
)
from tasksapp.models import LIVE, BizType, Job, NewJob
from tasksapp.models.api_key import MOVING
from tasksapp.models.columns import is_code
from tasksapp.models.job_id import new_job_ids
from tasksapp.models.job_keys import IdempotencyKey
from tasksapp.models.sealed_value import is_sealed, mac_of
from tasksapp.sql.keep_last import new_live_key

#: Why some faces have no field of that kind.
_CALL: Mapping[Face, str] = {Face.TASK: "the call of the task has its arguments, in the place of a body"}
_TIME: Mapping[Face, str] = {Face.SERIES: "each of its jobs has a time of its own"}
_KEY: Mapping[Face, str] = {
    Face.CHANGE: "the job was made by it",
    Face.SERIES: "none of its jobs takes the place of another",
}
_NOT_KEPT: Mapping[Face, str] = {Face.ANSWER: "the job keeps what follows from it"}
_AS_TEXT: Mapping[Face, str] = {Face.ANSWER: "JSON has it as body_text or body_base64"}


@dataclass(slots=True)  # not frozen: that doubles the cost of making one
class JobRequest:
    """What a caller asks for.

    Parameters of ``create``, fields of REST requests and answers, rules, OpenAPI and the admin's form
    are made from these lines. A field that is a column of :class:`NewJob` is stored as its rule gives it. Its words
    are those of :mod:`delayhub.job_fields`. A field is on every face that its rule does not name as one without it.
    """

    biz_type: Annotated[
        str,
        Code(
            help="The code of a biz type.",
            absent={Face.CHANGE: "a job stays one of its biz type", Face.TASK: "the decorator says it"},
        ),
    ]
    _: KW_ONLY
    biz_id: Annotated[str, Line(longest=200)] = ""
    due_at: Annotated[datetime | str | None, Moment(absent=_TIME)] = None
    delay: Annotated[timedelta | float | None, Seconds(absent={**_TIME, **_NOT_KEPT})] = None
    body: Annotated[Any, Body(absent=_CALL)] = None
    priority: Annotated[int | None, Whole(least=0, most=9)] = None
    max_attempts: Annotated[int | None, Whole(least=1, most=1_000)] = None
    idempotency_key: Annotated[str | None, Key(longest=200, absent={**_KEY, **_NOT_KEPT})] = None
    debounce_key: Annotated[str | None, Key(longest=200, none="", absent=_KEY)] = None
    debounce_max_wait: Annotated[timedelta | float | None, Seconds(absent={**_KEY, **_NOT_KEPT})] = None
    expires_at: Annotated[datetime | str | None, Moment(absent=_TIME)] = None
    traceparent: Annotated[
        str, TraceContext(absent=dict.fromkeys(Face, "a header brings it, and the receiver's request takes it on"))
    ] = ""
    flow_key: Annotated[str, FlowKey()] = ""
    request: Annotated[dict[str, Any] | StoredRequest | None, RequestOfItsOwn(absent=_CALL)] = None
    raw: Annotated[bytes | memoryview | None, ExactBytes(absent={**_CALL, **_AS_TEXT})] = None
    content_type: Annotated[str, ContentType(absent=_CALL)] = ""
    #: Whether the job is encrypted at rest whatever its biz type says.
    is_secret: ClassVar[bool] = False


class SecretRequest(JobRequest):
    """A request for a job that carries what an encrypted one carried."""

    __slots__ = ()
    is_secret = True


#: Why jobs in order have no priority of their own.
ORDERED_PRIORITY = "may not be given: the jobs of a flow key of this biz type run in their order"

#: The rule of each field, by the name callers use.
RULES = rules_of(JobRequest)


def fields_on(face: Face) -> list[str]:
    """The names of the fields that callers meet there."""
    return [name for name, rule in RULES.items() if face not in rule.absent]


#: The columns that are stored as their rules give them: all but id, biz type, due time, priority and place. Nearly all
#: requests give the first two, and few any of the others.
_COLUMNS = NewJob._fields[5:]
_SELDOM = _COLUMNS[2:]
_checks = tuple(RULES[name].__call__ for name in _SELDOM)
_seldom = attrgetter(*_SELDOM, "content_type", "debounce_max_wait")
#: What a request holds that gives none of those. Rules are not called for what is not given, which would take half as
#: long again, and most requests are known by one comparison to give nothing of all this.
_UNSET = _seldom(JobRequest(""))
_STORED = tuple(check(unset) for check, unset in zip(_checks, _UNSET, strict=False))
_biz_id, _body, _due_at, _delay, _priority, _key, _max_wait, _content_type = (
    RULES[name].__call__
    for name in (
        *("biz_id", "body", "due_at", "delay", "priority"),
        *("idempotency_key", "debounce_max_wait", "content_type"),
    )
)

#: Columns that are part of every request's hash, as the due time, the delay and the priority are. All others count only
#: where they are given, so that a field that is added later leaves the hashes of earlier requests as they were.
_ALWAYS_HASHED = {"biz_id", "body", "max_attempts"}
#: Without a ``debounce_max_wait`` requests may put a job off for so many times their delay, in whole days.
DEFAULT_WAITS, DAY = 10, timedelta(days=1)
#: It differs when the same request is sent again.
_NEVER_HASHED = {"traceparent"}


@dataclass(frozen=True, slots=True)
class Rejected:
    """A request of a bulk that made no job, and why."""

    error: JobError


class Accepted(NamedTuple):
    """A request that passed the rules, and the row it asks for.

    ``max_wait``: how long after the creation of the job that it replaces the row may put that off; None without a
    debounce key. ``is_answered``: what it asks was answered before.
    """

    row: NewJob
    biz_type: BizType
    key: str | None
    request: JobRequest
    max_wait: timedelta | None
    is_answered: bool = False

    @property
    def is_sealed(self) -> bool:
        """Whether its job is encrypted at rest."""
        return self.biz_type.encrypted or self.request.is_secret

    def request_hash(self) -> str:
        """What the caller asked for is known by again: a SHA-256, or a MAC where a body may have secrets.

        Those could be found by trying what they may be.
        """
        has_secrets = self.is_sealed or self.biz_type.masked_fields
        return (mac_of(self._asked()) or "") if has_secrets else hashlib.sha256(self._asked()).hexdigest()

    def is_of(self, request_hash: str) -> bool | None:
        """Whether an earlier request that is known by that asked for the same; None where its key is not here.

        That key may be another one than the newest, such as that of the site where the tenant was.
        """
        if is_sealed(request_hash):
            mac = mac_of(self._asked(), like=request_hash)
            return mac == request_hash if mac else None
        return hashlib.sha256(self._asked()).hexdigest() == request_hash

    def _asked(self) -> bytes:
        """What the caller asked for: a delay counts as a delay, whenever it is asked for again."""
        row, request, wait = self.row, self.request, _delay(self.request.delay)
        longest = _max_wait(request.debounce_max_wait)
        asked: dict[str, Any] = {
            name: value
            for name, value in zip(_COLUMNS, row[-len(_COLUMNS) :], strict=True)
            if name in _ALWAYS_HASHED or (name not in _NEVER_HASHED and value != NewJob._field_defaults[name])
        }
        if row.expires_at is not None:
            asked["expires_at"] = row.expires_at.isoformat()
        asked["due_at"] = None if request.due_at is None else row.due_at.isoformat()
        asked["delay"] = None if wait is None else wait.total_seconds()
        asked["priority"] = request.priority
        asked["body"] = json.loads(row.body)
        if row.request:
            # What is stored of secrets differs each time.
            asked["request"] = asked_request(request.request)
        if row.raw is not None:
            asked["raw"] = [hashlib.sha256(row.raw).hexdigest(), content_type_of(row.request)]
        if longest is not None:
            asked["debounce_max_wait"] = longest.total_seconds()
        return json.dumps(asked, sort_keys=True).encode()


class Checked(NamedTuple):
    """What was said to each request, in order, and what is left of the insert rates that were asked."""

    outcomes: list[Accepted | Rejected]
    limits: Sequence[InsertLimit]


def checked(
    requests: Sequence[JobRequest], *, reach: Reach = OWN_REACH, now: datetime, using: str, is_limited: bool = True
) -> Checked:
    """Each request as it was accepted; rejected where it breaks a rule, or its biz type or tenant takes no more now.

    Args:
        requests: the requests.
        reach: which biz types they may name.
        now: when they came.
        using: the database.
        is_limited: whether insert rates count.

    Raises TenantMoving.
    """
    codes = {request.biz_type for request in requests if isinstance(request.biz_type, str)}
    # The database is asked for no other: for NUL or half a surrogate pair it would raise an error.
    codes = {code for code in codes if is_code(code)}
    known = biz_type_cache.find(codes, tenant_id=reach.tenant_id, using=using)
    if reach.biz_type_ids is not None:
        known = {code: biz_type for code, biz_type in known.items() if biz_type.id in reach.biz_type_ids}
    if not reach.while_moving:
        for biz_type in known.values():
            refuse_moving(biz_type)  # so that the caller comes again with all of them
    outcomes: list[Accepted | Rejected] = []
    full = None if reach.while_moving else next((no_more_jobs(biz_type.tenant) for biz_type in known.values()), None)
    for job_id, request in zip(new_job_ids(len(requests)), requests, strict=True):
        try:
            outcomes.append(_accepted(job_id, request, known, now=now, follows=reach.while_moving))
        except InvalidJob as error:
            outcomes.append(Rejected(error))
    if full is not None:
        accepted = [one for one in outcomes if isinstance(one, Accepted)]
        # The body that takes the place of another may be the longer one.
        keep = accepted if full.quota == Quota.PENDING_JOBS else [one for one in accepted if _is_only_refused(one)]
        makes_none = _repeating(accepted, now=now, using=using) | _replacing(keep, using=using)
        outcomes = [
            one if isinstance(one, Rejected) or one.row.id in makes_none else Rejected(full) for one in outcomes
        ]
    return Checked(outcomes, _admit(outcomes) if is_limited else ())


def _repeating(accepted: Sequence[Accepted], *, now: datetime, using: str) -> set[UUID]:
    """The rows of requests whose idempotency key an earlier one had: a repeated request makes no job."""
    keyed = [one for one in accepted if one.key is not None]
    if not keyed:
        return set()
    rows = IdempotencyKey.objects.using(using).filter(expires_at__gt=now, key__in={one.key for one in keyed})
    rows = rows.filter(biz_type_id__in={one.row.biz_type_id for one in keyed})
    earlier = set(rows.values_list("biz_type_id", "key"))
    return {one.row.id for one in keyed if (one.row.biz_type_id, one.key) in earlier}


def _replacing(accepted: Sequence[Accepted], *, using: str) -> set[UUID]:
    """The rows of requests that take the place of a job that waits, or are answered with the one that is live."""
    found: set[UUID] = set()
    for column in ("debounce_key", "live_key"):
        keys = {one.row.id: (one.row.biz_type_id, key) for one in accepted if (key := _held_key(one, column))}
        if not keys:
            continue
        numbers, names = ({key[part] for key in keys.values()} for part in (0, 1))
        rows = Job.objects.using(using).filter(**{"biz_type_id__in": numbers, f"{column}__in": names})
        held = set(rows.filter(status__in=LIVE).values_list("biz_type_id", column))
        found |= {row_id for row_id, key in keys.items() if key in held}
    return found


def _is_only_refused(request: Accepted) -> bool:
    """Return True if it never takes the place of a waiting job, but is refused by the live one."""
    return not request.row.debounce_key and request.biz_type.one_live == BizType.OneLive.REFUSE


def _held_key(request: Accepted, column: str) -> str:
    """By what a job that the request replaces is found; '' where it replaces none."""
    if column == "debounce_key":
        return request.row.debounce_key
    biz_id, one_live = request.row.biz_id, request.biz_type.one_live
    return new_live_key(biz_id, one_live) if biz_id and one_live != BizType.OneLive.ANY else ""


def _accepted(
    job_id: UUID, request: JobRequest, known: dict[str, BizType], *, now: datetime, follows: bool
) -> Accepted:
    biz_type = known.get(request.biz_type) if isinstance(request.biz_type, str) else None
    if biz_type is None:
        RULES["biz_type"](request.biz_type)
        raise UnknownBizType(request.biz_type)
    if not biz_type.enabled and biz_type.moved_to != MOVING:  # of one that is being moved, that is said
        raise InvalidJob("biz_type", "disabled", f"the biz type {biz_type.code} is disabled")
    due_at, delay, key = request.due_at, request.delay, request.idempotency_key
    due_at = None if due_at is None else _due_at(due_at)
    due = due_time(due=due_at, wait=None if delay is None else _delay(delay), now=now)
    priority = biz_type.priority if request.priority is None else _priority(request.priority)
    biz_id, body, max_wait = _biz_id(request.biz_id), _body(request.body), None
    row = NewJob(job_id, biz_type.id, due, priority, None, biz_id, body, *_STORED)
    if _seldom(request) != _UNSET:
        row, max_wait = _with_seldom(row, request, biz_type, now=now)
    if biz_type.masked_fields and not follows:  # what follows carries the masks that it was given
        refuse_masks(biz_type, body=row.body, raw=row.raw)
    return Accepted(row, biz_type, None if key is None else _key(key), request, max_wait)


def _with_seldom(
    row: NewJob, request: JobRequest, biz_type: BizType, *, now: datetime
) -> tuple[NewJob, timedelta | None]:
    """The row with what few requests give, and how long it may put another job off. Raises InvalidJob."""
    asked = zip(_seldom(request)[: len(_SELDOM)], _UNSET, _STORED, _checks, strict=False)
    values = [stored if given is unset else check(given) for given, unset, stored, check in asked]
    row = NewJob._make([*row[: -len(_SELDOM)], *values])
    if row.raw is not None or request.content_type:
        row = _with_bytes(row, request, biz_type)
    if row.request:
        row = row._replace(request=fitted(RULES["request"], row.request, biz_type))
    if row.flow_key and request.priority is not None and biz_type.is_ordered:
        raise RULES["priority"].refusal("conflict", ORDERED_PRIORITY)
    if row.expires_at is not None and row.expires_at <= row.due_at:
        raise RULES["expires_at"].refusal("too_early", "must be later than the time at which the job is due")
    if not row.debounce_key and request.debounce_max_wait is None:
        return row, None
    return row, _longest_wait(row, _max_wait(request.debounce_max_wait), biz_type, now=now)


def _with_bytes(row: NewJob, request: JobRequest, biz_type: BizType) -> NewJob:
    """The row with the content type of its exact bytes. Raises InvalidJob where it cannot have them."""
    if row.raw is not None and row.body != "null":
        raise InvalidJob("body", "conflict", "give a JSON body or exact bytes, not both")
    content_type = _content_type(request.content_type)
    text = with_content_type(row.request, raw=row.raw, content_type=content_type, biz_type=biz_type)
    return row._replace(request=text)


def _longest_wait(row: NewJob, given: timedelta | None, biz_type: BizType, *, now: datetime) -> timedelta:
    """How long after its creation a job with the row's debounce key may be put off by the row. Raises InvalidJob."""
    rule, wait = RULES["debounce_max_wait"], row.due_at - now
    if row.debounce_key and row.biz_id and biz_type.one_live != BizType.OneLive.ANY:
        text = f"{biz_type.code} keeps one live job of each biz id: its jobs have no debounce key beside that"
        raise InvalidJob("debounce_key", "conflict", text)
    if given is None and row.debounce_key and biz_type.debounce_max_wait is not None:
        return biz_type.debounce_max_wait
    if given is None:
        # Without an end, a job whose key is touched more often than its delay would never run.
        return max(DAY, ceil(DEFAULT_WAITS * wait / DAY) * DAY)
    if not row.debounce_key:
        raise rule.refusal("no_key", "needs a debounce_key")
    if given < wait:
        raise rule.refusal("too_short", f"may not be shorter than the time until the job is due, got {given}")
    return given


def _admit(outcomes: list[Accepted | Rejected]) -> Sequence[InsertLimit]:
    """Rejects what is beyond the insert rate of its biz type; gives back what is left of each rate."""
    limited: dict[str, list[int]] = {}
    for index, outcome in enumerate(outcomes):
        if isinstance(outcome, Accepted) and outcome.biz_type.insert_rate:
            limited.setdefault(outcome.biz_type.code, []).append(index)
    if not limited:
        return ()
    limits = []
    for indexes in limited.values():
        first = outcomes[indexes[0]]
        assert isinstance(first, Accepted)
        allowed, refusal, limit = allow_inserts(first.biz_type, count=len(indexes))
        if limit is not None:
            limits.append(limit)
        if refusal is not None:
            for index in indexes[allowed:]:
                outcomes[index] = Rejected(refusal)
    return limits
