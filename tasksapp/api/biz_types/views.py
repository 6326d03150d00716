"""The views of biz types."""

from __future__ import annotations

from hashlib import sha256

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp.api.biz_types.access import find_biz_type, shown_etag, shows_all
from tasksapp.api.biz_types.changes import BizTypeChanges
from tasksapp.api.biz_types.flow_keys import FlowKeyActions
from tasksapp.api.biz_types.representation import BizTypeSerializer, biz_type_json
from tasksapp.api.biz_types.secrets import BizTypeSecrets, BizTypeTests
from tasksapp.api.http.conditions import answer
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.paging import ByCode
from tasksapp.api.http.view import ApiViewSet
from tasksapp.biz_types.visible import visible_biz_types
from tasksapp.models import BizType
from tasksapp.models.api_key import Scope

#: What a conditional read takes, and what its answer has, for OpenAPI.
CONDITION_PARAMETERS = [
    OpenApiParameter(
        "If-None-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The ETag of the state you have."
    ),
    OpenApiParameter(
        "ETag", OpenApiTypes.STR, OpenApiParameter.HEADER, response=[200, 304], description="Names the state."
    ),
]


class BizTypeViews(BizTypeChanges, BizTypeSecrets, BizTypeTests, FlowKeyActions, ApiViewSet):
    """Biz types: the kinds of jobs, with where they go, how often they are tried, and how fast."""

    queryset = BizType.objects.order_by("code")
    serializer_class = BizTypeSerializer
    pagination_class = ByCode
    lookup_field = "code"
    lookup_value_regex = "[a-z0-9][a-z0-9._-]{0,99}"

    @endpoint(
        "List biz types",
        Scope.BIZ_TYPES_READ,
        gives={200: BizTypeSerializer(many=True), 304: OpenApiResponse(None, "Nothing of them has changed.")},
        parameters=CONDITION_PARAMETERS,
    )
    def list(self, request: Request) -> Response:
        """A page of the biz types that the key may see, by code, or 304 where `If-None-Match` names its state."""
        found = self.paginate_queryset(visible_biz_types(request.user)) or []
        all_of_them = shows_all(request)
        page = self.get_paginated_response([biz_type_json(each, shows_all=all_of_them) for each in found]).data
        states = [page["next"], *(shown_etag(request, each) for each in found)]
        return answer(request, page, etag=f'"{sha256(repr(states).encode()).hexdigest()[:24]}"')

    @endpoint(
        "Read a biz type",
        Scope.BIZ_TYPES_READ,
        gives={200: BizTypeSerializer, 304: OpenApiResponse(None, "It is as `If-None-Match` says.")},
        parameters=CONDITION_PARAMETERS,
    )
    def retrieve(self, request: Request, code: str) -> Response:
        """The biz type with that code, or 304. Its `ETag` is what a change sends back as `If-Match`."""
        found = find_biz_type(request, code)
        return answer(request, biz_type_json(found, shows_all=shows_all(request)), etag=shown_etag(request, found))
