"""How an operation looks from outside."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from tasksapp.api.http.timestamp import timestamp
from tasksapp.models import BizType, Operation
from tasksapp.operations import progress
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState

TRIAL_STATES = ("running", "passed", "failed")


def operation_json(operation: Operation, *, health: Callable[[], DeliveryHealth] | None = None) -> dict[str, Any]:
    """An operation, as :class:`OperationSerializer` describes it.

    Args:
        operation: with its biz type.
        health: says whether jobs are delivered; a list of operations asks only once.
    """
    now = progress(operation, health=health)
    return {
        "id": operation.pk,
        "verb": str(operation.verb),
        "filter": _filter(operation),
        "biz_type": None if operation.biz_type is None else operation.biz_type.code,
        "due_at": timestamp(operation.due_at),
        "reason": operation.reason,
        "rate_per_second": operation.rate_per_second,
        "trial_jobs": operation.trial_jobs,
        "trial_percent": operation.trial_percent,
        "state": str(operation.state),
        "state_reason": operation.state_reason,
        "planned": operation.planned,
        "done": now.done,
        "waiting": now.waiting,
        "left": now.left,
        "succeeded": now.succeeded,
        "failed": now.failed,
        "dead": now.dead,
        "per_second": now.per_second,
        "finishes_at": timestamp(now.finishes_at),
        "trial": now.trial,
        "sentence": now.sentence,
        "started_by": operation.started_by,
        "created_at": timestamp(operation.created_at),
        "planned_at": timestamp(operation.planned_at),
        "started_at": timestamp(operation.started_at),
        "finished_at": timestamp(operation.finished_at),
    }


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


class OperationSerializer(serializers.Serializer[Any]):
    """A verb for all jobs that match a filter, and how far it has come."""

    example = _example()

    id = serializers.IntegerField()
    verb = serializers.ChoiceField(choices=Operation.VerbName.choices)
    filter = serializers.DictField(help_text="Which jobs.")
    biz_type = serializers.CharField(allow_null=True, help_text="Null: jobs of any.")
    due_at = serializers.DateTimeField(allow_null=True, help_text="The new time, of jobs that are rescheduled.")
    reason = serializers.CharField(allow_blank=True)
    rate_per_second = serializers.FloatField(allow_null=True, help_text="Its pace. Null: as fast as possible.")
    trial_jobs = serializers.IntegerField(help_text="So many go first; 0: no trial.")
    trial_percent = serializers.IntegerField()
    state = serializers.ChoiceField(choices=Operation.State.choices)
    state_reason = serializers.CharField(allow_blank=True, help_text="Why it stopped or failed.")
    planned = serializers.IntegerField(allow_null=True, help_text="Jobs that matched when it was planned.")
    done = serializers.IntegerField(help_text="Jobs that it changed.")
    waiting = serializers.IntegerField(help_text="Jobs that it has still to look at.")
    left = serializers.IntegerField(help_text="Jobs that it left alone, once it has ended.")
    succeeded = serializers.IntegerField(help_text="Of the changed jobs: those that succeeded since.")
    failed = serializers.IntegerField(help_text="Attempts of the changed jobs that failed since.")
    dead = serializers.IntegerField(help_text="Of the changed jobs: those that died since.")
    per_second = serializers.FloatField(allow_null=True, help_text="Jobs that it changed a second, lately.")
    finishes_at = serializers.DateTimeField(allow_null=True, help_text="When it will be done at this pace.")
    trial = serializers.ChoiceField(choices=TRIAL_STATES, allow_null=True)
    sentence = serializers.CharField(help_text="What happens now, or why nothing does.")
    started_by = serializers.CharField(allow_blank=True, help_text="Who planned it, later who started it.")
    created_at = serializers.DateTimeField()
    planned_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
