"""The views of API keys: callers with the scope ``keys`` issue, change, rotate and revoke them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import IntegrityError
from django.http import Http404, HttpResponse
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import keys as answers
from delayhub.api_models.keys import OwnKey
from tasksapp.access import key_verbs
from tasksapp.access.key_verbs import OVERLAP
from tasksapp.access.keys import store_key
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.paging import NewestNumberFirst
from tasksapp.api.http.parameters import Parameters, RefusingFilters, TrueOrFalse
from tasksapp.api.http.scopes import ANY_SCOPE
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.jobs.requests import VersionRequestSerializer
from tasksapp.api.keys.requests import (
    ApiKeyRequestSerializer,
    ChangeApiKeyRequestSerializer,
    RotateApiKeyRequestSerializer,
    check_grant,
    fill,
    name_taken,
    unchanged,
    visible_keys,
)
from tasksapp.errors import StaleKey
from tasksapp.models import ApiKey, BizType
from tasksapp.models.api_key import Scope


def codes_of(keys: Sequence[ApiKey]) -> dict[int, str]:
    """The codes of all biz types that these keys are limited to, by id."""
    ids = {number for key in keys for number in key.biz_type_ids}
    return dict(BizType.objects.filter(id__in=ids).values_list("id", "code")) if ids else {}


def key_json(key: ApiKey, *, codes: Mapping[int, str]) -> dict[str, Any]:
    """A key, as :class:`ApiKeySerializer` describes it.

    Args:
        key: the row.
        codes: those of biz types, by id; the key's biz types that are not among them were deleted.
    """
    overlaps = bool(key.previous_prefix) and key.previous_until is not None and key.previous_until > timezone.now()
    return json_of(
        answers.ApiKey,
        key,
        scopes=list(key.scopes),
        biz_types=sorted(codes[id_] for id_ in key.biz_type_ids if id_ in codes) if key.biz_type_ids else None,
        previous_prefix=key.previous_prefix if overlaps else None,
        previous_until=key.previous_until if overlaps else None,
    )


def _example() -> dict[str, Any]:
    at = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)
    row = ApiKey(
        id=3, name="checkout", owner="Team Shop", prefix="dh_V1StGXR8", scopes=["jobs:read", "jobs:write"],
        biz_type_ids=[1], expires_at=datetime(2028, 1, 31, tzinfo=UTC), created_at=at, last_used_at=at,
        last_used_from="192.0.2.7",
    )  # fmt: skip
    return key_json(row, codes={1: "order.close"})


_EXAMPLE = _example()
ApiKeySerializer = serializer_of(answers.ApiKey, example=_EXAMPLE)
NewApiKeySerializer = serializer_of(
    answers.NewApiKey, example={**_EXAMPLE, "key": "dh_V1StGXR8Z5jdHi6BmyTVbQ2kNqPw3xLcRfEoUaYs0gM"}
)
OwnKeySerializer = serializer_of(
    answers.OwnKey, example={"name": "checkout", "scopes": ["jobs:read", "jobs:write"], "biz_types": ["order.close"]}
)


ONCE = OpenApiResponse(NewApiKeySerializer, "The key, which no other answer has.")


class KeyFilters(filters.FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of the list of keys."""

    name = filters.CharFilter()
    enabled = TrueOrFalse()

    class Meta:
        model = ApiKey
        fields: list[str] = []


class KeyViews(ApiViewSet):
    """API keys of the caller's tenant. A caller gives no more than its own key has: scopes, biz types and time."""

    queryset = ApiKey.objects.all()
    serializer_class = ApiKeySerializer
    pagination_class = NewestNumberFirst
    filter_backends = [RefusingFilters]
    filterset_class = KeyFilters
    lookup_value_regex = "[0-9]{1,18}"

    @endpoint("List API keys", Scope.KEYS)
    def list(self, request: Request) -> Response:
        """A page of keys, the newest first."""
        page = self.paginate_queryset(self.filter_queryset(visible_keys(request.user)))
        assert page is not None
        codes = codes_of(page)
        return self.get_paginated_response([key_json(key, codes=codes) for key in page])

    @endpoint("Read your own API key", ANY_SCOPE, gives=OwnKeySerializer)
    def own(self, request: Request) -> Response:
        """What the key of the request may do, or the person."""
        Parameters(request, ())
        caller: Any = request.user
        ids = caller.biz_type_ids
        codes = None if ids is None else sorted(BizType.objects.filter(id__in=ids).values_list("code", flat=True))
        return Response(json_of(OwnKey, caller, scopes=sorted(caller.scopes), biz_types=codes))

    @endpoint("Read an API key", Scope.KEYS)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Who has the key, and what it may do."""
        return _shown(_found(request, pk))

    @endpoint("Issue an API key", Scope.KEYS, takes=ApiKeyRequestSerializer, status=201, gives=ONCE)
    def create(self, request: Request, fields: dict[str, Any]) -> Response:
        """Makes a key for a caller of your tenant. It has no more scopes, biz types and time than your own."""
        caller: Any = request.user
        row = ApiKey(tenant_id=caller.tenant_id)
        fill(row, fields, caller=caller)
        check_grant(row, caller=caller)
        try:
            with unchanged(caller):
                issued = store_key(row, by=actor_of(request))
        except IntegrityError:
            raise name_taken(row.name) from None
        return _shown(issued.row, key=issued.key, status=201, headers={"Location": f"{request.path}/{issued.row.pk}"})

    @endpoint("Change an API key", Scope.KEYS, takes=ChangeApiKeyRequestSerializer)
    def partial_update(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Changes what the request names. It holds from the key's next call on."""
        row = _asked(request, pk, fields)
        is_only_disabled = fields == {"enabled": False}
        if not is_only_disabled:
            check_grant(row, caller=request.user)
        columns = fill(row, fields, caller=request.user)
        if not is_only_disabled:
            check_grant(row, caller=request.user)
        try:
            with unchanged(request.user):
                key_verbs.edit(row, columns, by=actor_of(request))
        except IntegrityError:
            raise name_taken(row.name) from None
        return _shown(row)

    @endpoint("Rotate an API key", Scope.KEYS, post="rotate", takes=RotateApiKeyRequestSerializer, gives=ONCE)
    def rotate(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Replaces the key by a new one; the key so far stays valid for `overlap_seconds`."""
        overlap = timedelta(seconds=fields.pop("overlap_seconds", OVERLAP.total_seconds()))
        row = _asked(request, pk, fields)
        check_grant(row, caller=request.user)
        with unchanged(request.user):
            key = key_verbs.rotate(row, overlap=overlap, by=actor_of(request))
        return _shown(row, key=key)

    @endpoint("End a previous API key", Scope.KEYS, post="end-previous", takes=VersionRequestSerializer)
    def end_previous(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Ends the replaced key at once, if it is still valid beside the present one."""
        row = _asked(request, pk, fields)
        key_verbs.end_previous(row, by=actor_of(request))
        return _shown(row)

    @endpoint("Revoke an API key", Scope.KEYS, gives={204: OpenApiResponse(None, "It is refused from now on.")})
    def destroy(self, request: Request, pk: str) -> HttpResponse:
        """Deletes the key, and a replaced one that is still valid. Its next call is refused."""
        key_verbs.delete(_found(request, pk), by=actor_of(request))
        return HttpResponse(status=204)


def _found(request: Request, pk: str) -> ApiKey:
    """The key of that number. Raises Http404 where there is none that the caller may see."""
    row = visible_keys(request.user).filter(pk=int(pk)).first()
    if row is None:
        raise Http404(f"There is no key {pk}.")
    return row


def _asked(request: Request, pk: str, fields: dict[str, Any]) -> ApiKey:
    """The same, with the version that the request names; takes it out of the fields. Raises StaleKey too."""
    version = fields.pop("version", None)
    row = _found(request, pk)
    if version is not None and version != row.version:
        raise StaleKey(row.name, asked=version, version=row.version)
    return row


def _shown(row: ApiKey, *, key: str = "", status: int = 200, headers: dict[str, str] | None = None) -> Response:
    shown = key_json(row, codes=codes_of([row]))
    return Response({**shown, "key": key} if key else shown, status=status, headers=headers)
