"""The views of business keys with several jobs: plan them, resolve them, and take a resolve back."""

from __future__ import annotations

import json
from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp import jobs
from tasksapp.api.http.actors import actor_of, creator_of
from tasksapp.api.http.database_away import RETRY_SECONDS
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.idempotency import idempotency_key
from tasksapp.api.http.json_body import read_object
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.job_views import IDEMPOTENCY_HEADER
from tasksapp.api.plan_requests import PlanRequestSerializer, ResolveRequestSerializer, key_of, planned
from tasksapp.api.representation.job import CreatedJobSerializer, created_text
from tasksapp.conf import options
from tasksapp.models import Job
from tasksapp.models.api_key import Scope

_ASK_AGAIN = (
    "The key is resolved: nothing of it fires that has not begun. The database did not let all of its jobs be cancelled"
    " in time, and which ones are running is not known: ask again."
)


class PlanSerializer(serializers.Serializer[Any]):
    """The jobs of a plan."""

    example = {"biz_id": "order-42", "biz_types": ["order.close"], "jobs": [CreatedJobSerializer.example]}

    biz_id = serializers.CharField()
    biz_types = serializers.ListField(child=serializers.CharField(), help_text="What a resolve of the plan names.")
    jobs = serializers.ListField(child=CreatedJobSerializer(), help_text="In the order of the request.")


class ResolutionSerializer(serializers.Serializer[Any]):
    """What became of a resolve."""

    example = {
        "biz_id": "order-42", "biz_types": ["order.remind", "order.close"], "accepted": True,
        "cancelled": [CreatedJobSerializer.example["id"]], "running": [], "detail": "",
    }  # fmt: skip

    biz_id = serializers.CharField()
    biz_types = serializers.ListField(child=serializers.CharField())
    accepted = serializers.BooleanField(help_text="Nothing fires any more but what `running` names.")
    cancelled = serializers.ListField(
        child=serializers.UUIDField(), help_text="Jobs that were pending, as far as they are cancelled."
    )
    running = serializers.ListField(
        child=serializers.UUIDField(),
        allow_null=True,
        help_text="Jobs whose attempt had begun; none of them is tried again. null unless it is accepted.",
    )
    detail = serializers.CharField(allow_blank=True, help_text="What to do where it is not accepted; else empty.")


class LiftedResolveSerializer(serializers.Serializer[Any]):
    """What became of a lift."""

    example = {"lifted": 1}

    lifted = serializers.IntegerField(min_value=0, help_text="Of how many biz types the key was resolved.")


class PlanViews(ApiViewSet):
    """Several jobs of one business key."""

    queryset = Job.objects.none()
    serializer_class = PlanSerializer

    @endpoint(
        "Create a plan", Scope.JOBS_WRITE, request=PlanRequestSerializer, status=201, parameters=[IDEMPOTENCY_HEADER]
    )
    def plan(self, request: Request) -> Response:
        """Creates several jobs of one business key, in one transaction: where one is refused, none is created."""
        fields = read_object(request._request, max_bytes=options().bulk_bytes)
        biz_id, steps = planned(fields)
        plan = jobs.plan(
            biz_id,
            steps,
            idempotency_key=idempotency_key(request.META),
            seen_by=request.user,
            by=creator_of(request._request),
        )
        shown = [
            json.loads(created_text(made, biz_type=step.biz_type)) for made, step in zip(plan.jobs, steps, strict=True)
        ]
        return Response({"biz_id": biz_id, "biz_types": list(plan.biz_types), "jobs": shown}, status=201)

    @endpoint(
        "Resolve a business key",
        Scope.JOBS_WRITE,
        takes=ResolveRequestSerializer,
        gives={
            200: ResolutionSerializer,
            202: OpenApiResponse(ResolutionSerializer, description="Nothing new fires; ask again for what is running."),
        },
    )
    def resolve(self, request: Request, fields: dict[str, Any]) -> Response:
        """Calls off all jobs of a business key: after an answer of 200 nothing fires but what `running` names.

        202, with `accepted: false`, where the database did not let all of it be done in time: the key is resolved, so
        that nothing fires that has not begun, but not all jobs are cancelled and `running` is not known. Ask again
        after `Retry-After`.
        """
        done = jobs.resolve(**key_of(fields), seen_by=request.user, by=actor_of(request))
        shown = {
            "biz_id": done.biz_id,
            "biz_types": list(done.biz_types),
            "accepted": bool(done.accepted),
            "cancelled": [str(each) for each in done.cancelled or ()],
            "running": None if done.running is None else [str(each) for each in done.running],
            "detail": "" if done.accepted else _ASK_AGAIN,
        }
        if done.accepted:
            return Response(shown)
        return Response(shown, status=202, headers={"Retry-After": str(RETRY_SECONDS)})

    @endpoint("Lift a resolve", Scope.JOBS_WRITE, takes=ResolveRequestSerializer, gives=LiftedResolveSerializer)
    def lift(self, request: Request, fields: dict[str, Any]) -> Response:
        """Lets new jobs of a resolved business key fire again. Jobs that were cancelled stay so."""
        lifted = jobs.lift(**key_of(fields), seen_by=request.user, by=actor_of(request))
        return Response({"lifted": lifted})
