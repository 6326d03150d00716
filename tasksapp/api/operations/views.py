"""The views of operations: each reads a request, calls one function of ``tasksapp.operations``, and shows the row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import operations as answers
from tasksapp import operations
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.authentication import starter_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.paging import NewestNumberFirst
from tasksapp.api.http.parameters import RefusingFilters
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.keys.requests import unchanged
from tasksapp.api.operations.requests import (
    OperationRequestSerializer,
    PaceOperationRequestSerializer,
    PlanRestRequestSerializer,
    StartOperationRequestSerializer,
    StopOperationRequestSerializer,
    filter_of,
)
from tasksapp.models import BizType, Operation
from tasksapp.models.api_key import Scope
from tasksapp.operations import progress
from tasksapp.operations.starter import visible_operations
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState, delivery_health


def operation_json(operation: Operation, *, health: Callable[[], DeliveryHealth] | None = None) -> dict[str, Any]:
    """An operation, as :class:`OperationSerializer` describes it.

    Args:
        operation: with its biz type.
        health: says whether jobs are delivered; a list of operations asks only once.
    """
    return json_of(
        answers.Operation,
        progress(operation, health=health),
        operation,
        filter=_filter(operation),
        biz_type=None if operation.biz_type is None else operation.biz_type.code,
    )


def _filter(operation: Operation) -> dict[str, Any]:
    """Which jobs, with the biz type by the code that it has now."""
    given: dict[str, Any] = operation.job_filter
    if operation.biz_type is None or "biz_type" not in given:
        return given
    return {**given, "biz_type": operation.biz_type.code}


def _example() -> dict[str, Any]:
    at = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)
    operation = Operation(
        id=17,
        verb="redrive",
        job_filter={"status": "dead", "biz_type": "order.close"},
        biz_type=BizType(id=1, code="order.close"),
        reason="the receiver was down",
        rate_per_second=74.0,
        state="running",
        planned=44_667,
        done=12_300,
        succeeded=12_241,
        failed=59,
        started_by="api:checkout",
        created_at=at,
        updated_at=at,
        planned_at=at,
        started_at=at,
        cursor={"per_second": 74.0, "turn_at": int(at.timestamp() * 1000)},
    )
    shown = operation_json(operation, health=lambda: DeliveryHealth(state=DeliveryState.OK))
    return {**shown, "finishes_at": "2027-01-31T08:40:03Z"}


OperationSerializer = serializer_of(answers.Operation, example=_example())


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

    def get_queryset(self) -> QuerySet[Operation]:
        """The operations that the caller sees."""
        return visible_operations(self.request.user, rows=Operation.objects.select_related("biz_type"))

    @endpoint("Plan an operation", Scope.JOBS_ACT, takes=OperationRequestSerializer, status=201)
    def create(self, request: Request, fields: dict[str, Any]) -> Response:
        """Counts the jobs for which the verb is meant. Nothing changes before the start."""
        wanted, verb = filter_of(fields.pop("filter")), fields.pop("verb")
        with unchanged(request.user):  # the operation names the key, and goes on only as long as that may
            operation = operations.plan(verb, wanted, by=starter_of(request), seen_by=request.user, **fields)
        # Its address is below the one that it was posted to.
        headers = {"Location": f"{request.path}/{operation.pk}"}
        return Response(operation_json(operation), status=201, headers=headers)

    @endpoint("List operations", Scope.JOBS_READ)
    def list(self, request: Request) -> Response:
        """A page of operations, the newest first."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        assert page is not None
        health = cache(delivery_health)
        return self.get_paginated_response([operation_json(operation, health=health) for operation in page])

    @endpoint("Read an operation", Scope.JOBS_READ)
    def retrieve(self, request: Request, pk: str) -> Response:
        """The operation with that number, and how far it has come."""
        return _shown(operations.find(int(pk), seen_by=request.user))

    @endpoint("Start an operation", Scope.JOBS_ACT, post="start", takes=StartOperationRequestSerializer)
    def start(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Starts an operation that is planned. To cancel or drop more than 1 000 jobs takes their number."""
        with unchanged(request.user):
            return _shown(operations.start(int(pk), by=starter_of(request), seen_by=request.user, **fields))

    @endpoint("Stop an operation", Scope.JOBS_ACT, post="stop", takes=StopOperationRequestSerializer)
    def stop(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Stops an operation. Jobs that it changed already stay changed."""
        return _shown(operations.stop(int(pk), by=starter_of(request), seen_by=request.user, **fields))

    @endpoint("Pace an operation", Scope.JOBS_ACT, post="pace", takes=PaceOperationRequestSerializer)
    def pace(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Gives a running operation another pace, which holds within seconds."""
        return _shown(operations.repace(int(pk), by=starter_of(request), seen_by=request.user, **fields))

    @endpoint(
        "Plan the rest of an operation",
        Scope.JOBS_ACT,
        post="rest",
        takes=PlanRestRequestSerializer,
        gives={201: OperationSerializer, 200: OperationSerializer},
    )
    def rest(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Plans the verb of an operation that stopped or failed for the jobs that it left.

        201 with the new operation; 200 with the one that is there already, as long as it is not started.
        """
        with unchanged(request.user):  # the operation names the key, and goes on only as long as that may
            operation, is_new = operations.plan_rest(int(pk), by=starter_of(request), seen_by=request.user, **fields)
        # It lies beside the one whose rest it is.
        address = f"{request.path.rsplit('/', 2)[0]}/{operation.pk}"
        status = 201 if is_new else 200
        return Response(operation_json(operation), status=status, headers={"Location": address})


def _shown(operation: Operation) -> Response:
    return Response(operation_json(operation))
