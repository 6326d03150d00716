"""The views of operations: each reads a request, calls one function of ``tasksapp.operations``, and shows the row."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from django.utils.translation import override
from django_filters import rest_framework as filters
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp import operations
from tasksapp.api.filters import RefusingFilters
from tasksapp.api.http.actors import starter_of
from tasksapp.api.http.openapi import described
from tasksapp.api.http.paging import NewestNumberFirst
from tasksapp.api.http.view import ApiViewSet, fields_of
from tasksapp.api.key_requests import unchanged
from tasksapp.api.operation_requests import (
    OperationRequestSerializer,
    PaceOperationRequestSerializer,
    PlanRestRequestSerializer,
    StartOperationRequestSerializer,
    StopOperationRequestSerializer,
    filter_of,
)
from tasksapp.api.representation.operation import OperationSerializer, operation_json
from tasksapp.api.requests import only_known, refused
from tasksapp.models import Operation
from tasksapp.models.api_key import Scope
from tasksapp.operations.reach import visible_operations
from tasksapp.stats.delivery_health import delivery_health


class OperationFilters(filters.FilterSet):  # type: ignore[misc]  # django-filter has no types
    """Filters of the list of operations."""

    state = filters.MultipleChoiceFilter(choices=Operation.State.choices, help_text="May be given several times.")
    verb = filters.ChoiceFilter(choices=Operation.VerbName.choices)
    biz_type = filters.CharFilter(field_name="biz_type__code")

    class Meta:
        model = Operation
        fields: list[str] = []


class OperationViews(ApiViewSet):
    """Operations: one verb for all jobs of the caller's tenant and biz types that match a filter."""

    queryset = Operation.objects.select_related("biz_type")
    serializer_class = OperationSerializer
    pagination_class = NewestNumberFirst
    filter_backends = [RefusingFilters]
    filterset_class = OperationFilters
    lookup_value_regex = "[0-9]{1,18}"
    scopes: ClassVar = {
        "list": Scope.JOBS_READ,
        "retrieve": Scope.JOBS_READ,
        "create": Scope.JOBS_ACT,
        "start": Scope.JOBS_ACT,
        "stop": Scope.JOBS_ACT,
        "pace": Scope.JOBS_ACT,
        "rest": Scope.JOBS_ACT,
    }

    def get_queryset(self) -> QuerySet[Operation]:
        """The operations that the caller sees."""
        return visible_operations(self.request.user, rows=Operation.objects.select_related("biz_type"))

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answers in English, as the rest of the API does, whatever language the pages are in."""
        with override("en"):
            return super().dispatch(request, *args, **kwargs)

    @described(summary="Plan an operation", request=OperationRequestSerializer, responses={201: OperationSerializer})
    def create(self, request: Request) -> Response:
        """Counts the jobs for which the verb is meant. Nothing changes before the start."""
        fields = fields_of(request)
        only_known(fields, OperationRequestSerializer().fields)
        if "verb" not in fields:
            raise refused("verb", "required", "verb is required")
        wanted, verb = filter_of(fields.pop("filter", None)), fields.pop("verb")
        with unchanged(request.user):  # the operation names the key, and goes on only as long as that may
            operation = operations.plan(verb, wanted, by=starter_of(request), seen_by=request.user, **fields)
        # Its address is below the one that it was posted to.
        headers = {"Location": f"{request.path}/{operation.pk}"}
        return Response(operation_json(operation), status=201, headers=headers)

    @described(summary="List operations", responses=OperationSerializer(many=True))
    def list(self, request: Request) -> Response:
        """A page of operations, the newest first."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        assert page is not None
        health = cache(delivery_health)
        return self.get_paginated_response([operation_json(operation, health=health) for operation in page])

    @described(summary="Read an operation", responses=OperationSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """The operation with that number, and how far it has come."""
        return _shown(operations.find(int(pk), seen_by=request.user))

    @described(summary="Start an operation", request=StartOperationRequestSerializer, responses=OperationSerializer)
    @action(detail=True, methods=["post"])
    def start(self, request: Request, pk: str) -> Response:
        """Starts an operation that is planned. To cancel or drop more than 1 000 jobs takes their number."""
        fields = fields_of(request)
        only_known(fields, StartOperationRequestSerializer().fields)
        with unchanged(request.user):
            return _shown(operations.start(int(pk), by=starter_of(request), seen_by=request.user, **fields))

    @described(summary="Stop an operation", request=StopOperationRequestSerializer, responses=OperationSerializer)
    @action(detail=True, methods=["post"])
    def stop(self, request: Request, pk: str) -> Response:
        """Stops an operation. Jobs that it changed already stay changed."""
        fields = fields_of(request)
        only_known(fields, StopOperationRequestSerializer().fields)
        return _shown(operations.stop(int(pk), by=starter_of(request), seen_by=request.user, **fields))

    @described(summary="Pace an operation", request=PaceOperationRequestSerializer, responses=OperationSerializer)
    @action(detail=True, methods=["post"])
    def pace(self, request: Request, pk: str) -> Response:
        """Gives a running operation another pace, which holds within seconds."""
        fields = fields_of(request)
        only_known(fields, PaceOperationRequestSerializer().fields)
        if "rate_per_second" not in fields:
            raise refused("rate_per_second", "required", "rate_per_second is required; null: as fast as possible")
        return _shown(operations.repace(int(pk), by=starter_of(request), seen_by=request.user, **fields))

    @described(
        summary="Plan the rest of an operation",
        request=PlanRestRequestSerializer,
        responses={201: OperationSerializer, 200: OperationSerializer},
    )
    @action(detail=True, methods=["post"])
    def rest(self, request: Request, pk: str) -> Response:
        """Plans the verb of an operation that stopped or failed for the jobs that it left.

        201 with the new operation; 200 with the one that is there already, as long as it is not started.
        """
        fields = fields_of(request)
        only_known(fields, PlanRestRequestSerializer().fields)
        with unchanged(request.user):  # the operation names the key, and goes on only as long as that may
            operation, is_new = operations.plan_rest(int(pk), by=starter_of(request), seen_by=request.user, **fields)
        # It lies beside the one whose rest it is.
        address = f"{request.path.rsplit('/', 2)[0]}/{operation.pk}"
        status = 201 if is_new else 200
        return Response(operation_json(operation), status=status, headers={"Location": address})


def _shown(operation: Operation) -> Response:
    return Response(operation_json(operation))
