"""The views of the document with all biz types: its export and its import."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models.biz_types import BizTypeChange, BizTypeImport
from tasksapp.api.biz_types.access import may_add, writing_database
from tasksapp.api.biz_types.requests import BizTypeDocumentSerializer, ImportBizTypesRequestSerializer
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.parameters import Parameters
from tasksapp.api.http.problems import refused
from tasksapp.api.http.view import ApiViewSet, large_object_of
from tasksapp.biz_types.document import export_document, import_document
from tasksapp.biz_types.visible import Reach, visible_biz_types
from tasksapp.models.api_key import Scope

DRY_RUN = OpenApiParameter(
    "dry_run", OpenApiTypes.BOOL, description="`true`: answer with the differences, and store nothing.", default=False
)


_EXAMPLE: dict[str, Any] = {
    "dry_run": True,
    "changes": [
        {
            "code": "order.close",
            "action": "change",
            "before": {"max_attempts": 16},
            "after": {"max_attempts": 8},
            "needs": [],
        }
    ],
    "left_alone": ["invoice.remind"],
}
BizTypeChangeSerializer = serializer_of(BizTypeChange, example=_EXAMPLE["changes"][0])
BizTypeImportSerializer = serializer_of(BizTypeImport, example=_EXAMPLE)


class DefinitionViews(ApiViewSet):
    """All biz types as one document, which can be kept in Git."""

    pagination_class = None

    # It shows addresses and headers, which may be secrets of receivers.
    @endpoint("Export biz types", Scope.BIZ_TYPES_WRITE, gives=BizTypeDocumentSerializer)
    def export(self, request: Request) -> Response:
        """All biz types by code, without pauses and secrets. It is the same document each time, until one changes."""
        return Response(export_document(visible_biz_types(request.user)))

    @endpoint(
        "Import biz types",
        Scope.BIZ_TYPES_WRITE,
        request=ImportBizTypesRequestSerializer,
        gives=BizTypeImportSerializer,
        parameters=[DRY_RUN],
    )
    def replace(self, request: Request) -> Response:
        """Makes what is missing and changes what differs, all or nothing; a second time, it changes nothing.

        What the document leaves out stays as it is: fields and biz types. A new one's fields have their defaults.
        """
        may_add(request)
        dry_run = _dry_run(request)
        document = large_object_of(request)
        credentials = document.pop("credentials", {})
        if not isinstance(credentials, dict) or not all(isinstance(each, str) for each in credentials.values()):
            raise refused("credentials", "invalid", "credentials must be a JSON object of texts")
        done = import_document(
            document,
            within=visible_biz_types(request.user, using=writing_database()),
            tenant_id=Reach.of(request.user).tenant_id,
            credentials=credentials,
            dry_run=dry_run,
            by=actor_of(request),
        )
        changes = [change._asdict() for change in done.changes]
        return Response(json_of(BizTypeImport, done, dry_run=dry_run, changes=changes))


def _dry_run(request: Request) -> bool:
    return Parameters(request, {"dry_run"}).chosen("dry_run", ("true", "false")) == "true"
