"""The views of biz types."""

from __future__ import annotations

from typing import ClassVar

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp.api.http.openapi import described
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.representation.biz_type import BizTypeSerializer, biz_type_json
from tasksapp.models import BizType
from tasksapp.models.api_key import Scope


class BizTypeViews(ApiViewSet):
    """Biz types. They are read-only: people change them in the admin."""

    queryset = BizType.objects.order_by("code")
    serializer_class = BizTypeSerializer
    pagination_class = None
    lookup_field = "code"
    lookup_value_regex = "[a-z0-9][a-z0-9._-]{0,99}"
    scopes: ClassVar = {
        "list": Scope.BIZ_TYPES_READ,
        "retrieve": Scope.BIZ_TYPES_READ,
    }

    @described(summary="List biz types", responses=BizTypeSerializer(many=True))
    def list(self, request: Request) -> Response:
        """All biz types, by code."""
        return Response([biz_type_json(biz_type) for biz_type in self.get_queryset()])

    @described(summary="Read a biz type", responses=BizTypeSerializer)
    def retrieve(self, request: Request, code: str) -> Response:
        """The biz type with that code."""
        biz_type = self.get_queryset().filter(code=code).first()
        if biz_type is None:
            raise Http404(f"There is no biz type {code!r}.")
        return Response(biz_type_json(biz_type))
