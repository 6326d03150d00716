"""The view of the audit: who did what, of what the key may see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import router
from django.db.models import Q, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import audit as answers
from tasksapp.access.audit import BODIES, CHANGED
from tasksapp.api.biz_types.representation import FOR_WRITERS
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.paging import NewestNumberFirst
from tasksapp.api.http.parameters import Parameters, parameter
from tasksapp.api.http.problems import refused
from tasksapp.api.http.view import ApiViewSet
from tasksapp.biz_types.visible import Reach, visible_biz_types
from tasksapp.models import AuditEntry, Tenant
from tasksapp.models.api_key import Scope

_TIME = {"type": "string", "format": "date-time"}
_LARGEST = 2**63 - 1


AuditEntrySerializer = serializer_of(
    answers.AuditEntry,
    example={
        "id": 912,
        "at": "2027-01-31T08:30:00Z",
        "actor": "api:checkout",
        "address": "192.0.2.7",
        "verb": "biz_type.pause",
        "job_id": None,
        "biz_type": "order.close",
        "operation_id": None,
        "what": "order.close",
        "before": {"paused_until": None},
        "after": {"paused_until": "9999-12-31T00:00:00+00:00"},
        "reason": "db move",
    },
)


class AuditViews(ApiViewSet):
    """The audit. Nobody can change or delete entries here."""

    queryset = AuditEntry.objects.all()
    serializer_class = AuditEntrySerializer
    pagination_class = NewestNumberFirst

    @endpoint(
        "List audit entries",
        Scope.STATS,
        parameters=[
            parameter("actor", {"type": "string"}, "Whole, such as `ada` or `api:checkout`."),
            parameter("verb", {"type": "string"}, "Such as `cancel`, `biz_type.edit` or `operation.start`."),
            parameter("biz_type", {"type": "string"}, "About this biz type or its jobs, by its code."),
            parameter("job_id", {"type": "string", "format": "uuid"}, "About this job."),
            parameter("operation_id", {"type": "integer", "minimum": 1, "maximum": _LARGEST}, "About this operation."),
            parameter("since", _TIME, "Not before."),
            parameter("until", _TIME, "Before."),
        ],
    )
    def list(self, request: Request) -> Response:
        """A page of deeds, the newest first."""
        rows = _filtered(request)
        page = self.paginate_queryset(rows)
        assert page is not None
        codes = _codes(request, {entry.biz_type_id for entry in page if entry.biz_type_id is not None})
        scopes = request.user.scopes  # type: ignore[union-attr]  # views have callers
        hidden = frozenset() if Scope.BIZ_TYPES_WRITE in scopes else FOR_WRITERS
        shows_bodies = Scope.JOBS_READ in scopes
        return self.get_paginated_response(
            [entry_json(entry, codes=codes, hidden=hidden, shows_bodies=shows_bodies) for entry in page]
        )


def entry_json(
    entry: AuditEntry, *, codes: Mapping[int, str], hidden: frozenset[str], shows_bodies: bool
) -> dict[str, Any]:
    """An entry, as :class:`AuditEntrySerializer` describes it.

    Args:
        entry: the entry.
        codes: of biz types, by their ids.
        hidden: columns whose values are not for this caller.
        shows_bodies: whether the texts of jobs' bodies are.
    """

    def visible(changes: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _shown(name, value, hidden, shows_bodies=shows_bodies) for name, value in changes.items()}

    return json_of(
        answers.AuditEntry,
        entry,
        biz_type=None if entry.biz_type_id is None else codes.get(entry.biz_type_id),
        before=visible(entry.before),
        after=visible(entry.after),
    )


def _shown(name: str, value: Any, hidden: frozenset[str], *, shows_bodies: bool) -> Any:
    if name in hidden:
        return CHANGED
    if name in BODIES and not shows_bodies:
        # The hash goes too: short bodies can be found by it.
        return {"bytes": value["bytes"]} if isinstance(value, dict) and "bytes" in value else {}
    return value


def _filtered(request: Request) -> QuerySet[AuditEntry]:
    known = {"actor", "verb", "biz_type", "job_id", "operation_id", "since", "until"}
    given = Parameters(request, {*known, "cursor", "limit"})
    rows = AuditEntry.objects.using(router.db_for_write(AuditEntry)).filter(_seen(request, given))
    found: dict[str, Any] = {
        "actor": given.text("actor", longest=150),
        "verb": given.text("verb", longest=40),
        "job_id": _uuid(given.text("job_id", longest=36)),
        "at__gte": given.moment("since"),
        "at__lt": given.moment("until"),
    }
    if given.has("operation_id"):
        found["operation_id"] = given.whole("operation_id", least=1, most=_LARGEST, default=1)
    return rows.filter(**{name: value for name, value in found.items() if value is not None})


def _seen(request: Request, given: Parameters) -> Q:
    """Which entries the caller sees, of the biz type that it names."""
    visible = visible_biz_types(request.user)
    code = given.text("biz_type", longest=100)
    if code is not None:
        biz_type = visible.filter(code=code).first()
        if biz_type is None:
            raise refused("biz_type", "invalid", f"there is no biz type {code!r}")
        return Q(biz_type_id=biz_type.pk)
    if Reach.of(request.user).biz_type_ids is None and Tenant.objects.count() == 1:
        return Q()  # also what is about no biz type: keys, and operations over several
    return Q(biz_type_id__in=list(visible.values_list("pk", flat=True)))


def _codes(request: Request, ids: set[int]) -> dict[int, str]:
    return dict(visible_biz_types(request.user).filter(pk__in=ids).values_list("pk", "code")) if ids else {}


def _uuid(text: str | None) -> UUID | None:
    if text is None:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise refused("job_id", "invalid", f"job_id must be a job's id, got {text!r}") from None
