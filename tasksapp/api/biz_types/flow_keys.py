"""The part of the views of biz types that shows, pauses and resumes flow keys."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models.biz_types import FlowKey, FlowKeys, PausedFlowKey
from tasksapp.access.audit import REASON_LENGTH
from tasksapp.api.biz_types.access import find_biz_type, locked_biz_type
from tasksapp.api.biz_types.changes import end_of
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.problems import refused
from tasksapp.biz_types import flow_keys
from tasksapp.errors import AWAY, TimersAway
from tasksapp.jobs.requests import RULES
from tasksapp.models import BizType
from tasksapp.models.api_key import Scope

_EXAMPLE = {
    "flow_key": "customer-7",
    "waiting": 120,
    "due": 12,
    "in_flight": 2,
    "paused_until": None,
    "blocked_by": None,
}


FlowKeySerializer = serializer_of(FlowKey, example=_EXAMPLE)
FlowKeysSerializer = serializer_of(
    FlowKeys, example={"flow_keys": [_EXAMPLE], "is_whole": True, "paused": [], "blocked": []}
)
PausedFlowKeySerializer = serializer_of(
    PausedFlowKey, example={"flow_key": "customer-7", "paused_until": "2027-01-31T10:00:00Z"}
)


class PauseFlowKeyRequestSerializer(CheckedRequest):
    """Which key waits, why, and until when."""

    example = {"flow_key": "customer-7", "reason": "its receiver is down", "until": "2027-01-31T10:00:00Z"}

    flow_key = serializers.RegexField(r"^[^:{}]+$", min_length=1, max_length=100)
    reason = serializers.CharField(max_length=REASON_LENGTH, help_text="Everybody reads it who asks why a job waits.")
    until = serializers.DateTimeField(
        required=False, allow_null=True, help_text="A time to come; without it, until somebody resumes it."
    )


class ResumeFlowKeyRequestSerializer(CheckedRequest):
    """Which key goes on, and why."""

    example = {"flow_key": "customer-7", "reason": "its receiver is up again"}

    flow_key = serializers.RegexField(r"^[^:{}]+$", min_length=1, max_length=100)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)


_changes = partial(endpoint, scope=Scope.BIZ_TYPES_WRITE, gives=PausedFlowKeySerializer)


class FlowKeyActions:
    """Flow keys of one biz type."""

    @endpoint(
        "List flow keys",
        Scope.BIZ_TYPES_READ,
        get="flow-keys",
        gives=FlowKeysSerializer,
        parameters=[
            OpenApiParameter("flow_key", OpenApiTypes.STR, description="Only this one. Without it: those with most.")
        ],
    )
    def flow_keys(self, request: Request, code: str) -> Response:
        """The flow keys with most jobs that wait, 50 at most, or the one that is asked for."""
        if unknown := sorted(set(request.query_params) - {"flow_key"}):
            raise refused(unknown[0][:100], "unknown", f"there is no filter {unknown[0][:100]!r}")
        return Response(_shown(find_biz_type(request, code), asked=_key(request.query_params.get("flow_key", ""))))

    @_changes("Pause a flow key", post="flow-keys/pause", takes=PauseFlowKeyRequestSerializer)
    def pause_key(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Holds the jobs of one flow key; those of other keys go on. What is under way ends as usual."""
        key, until = _key(fields["flow_key"]), end_of(fields)
        with locked_biz_type(request, code) as biz_type:
            flow_keys.pause_key(biz_type, key, until=until, by=actor_of(request), reason=fields["reason"].strip())
        return Response(json_of(PausedFlowKey, flow_key=key, paused_until=until))

    @_changes("Resume a flow key", post="flow-keys/resume", takes=ResumeFlowKeyRequestSerializer)
    def resume_key(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Lets the jobs of a paused flow key run again, within its limits. One that runs stays as it is."""
        key, reason = _key(fields["flow_key"]), fields.get("reason", "").strip()
        with locked_biz_type(request, code) as biz_type:
            flow_keys.resume_key(biz_type, key, by=actor_of(request), reason=reason)
        return Response(json_of(PausedFlowKey, flow_key=key, paused_until=None))


def _key(given: Any) -> str:
    key: str = RULES["flow_key"](given)
    return key


def _shown(biz_type: BizType, *, asked: str) -> dict[str, Any]:
    paused = {one.flow_key: one.until for one in flow_keys.paused_keys(biz_type)}
    try:
        look = flow_keys.look_at_keys(biz_type, flow_key=asked)
    except AWAY as error:
        raise TimersAway("flow keys cannot be counted") from error
    blocked = {job.flow_key: str(job.id) for job in flow_keys.blocked_keys(biz_type, flow_key=asked)}
    found = [
        json_of(FlowKey, each, flow_key=each.key, paused_until=paused.get(each.key), blocked_by=blocked.get(each.key))
        for each in look.keys
    ]
    return json_of(FlowKeys, look, flow_keys=found, paused=sorted(paused), blocked=sorted(blocked))
