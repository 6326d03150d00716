"""How an operation looks from outside."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from delayhub.api_models import operations as answers
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.models import BizType, Operation
from tasksapp.operations import progress
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState


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
