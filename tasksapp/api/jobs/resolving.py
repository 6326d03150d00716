"""The views that resolve a business key and lift the resolve."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import jobs as answers
from tasksapp import jobs
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.problems import RETRY_SECONDS
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.jobs.exact_body import is_null
from tasksapp.api.jobs.representation import CREATED
from tasksapp.jobs.resolving import BODY, MOST_BIZ_TYPES, OUTCOME
from tasksapp.models import Job
from tasksapp.models.api_key import Scope


class LiftRequestSerializer(CheckedRequest):
    """A business key."""

    example = {"biz_types": ["order.remind", "order.close"], "biz_id": "order-42", "reason": "paid"}

    biz_types = serializers.ListField(
        child=serializers.CharField(max_length=100), min_length=1, max_length=MOST_BIZ_TYPES, help_text="Their codes."
    )
    biz_id = serializers.CharField(max_length=200, min_length=1, help_text="The business key.")
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500, help_text="Why, for the audit.")


class ResolveRequestSerializer(LiftRequestSerializer):
    """A business key, and the answer for jobs of it that wait for one."""

    outcome = serializers.CharField(required=False, allow_null=True, max_length=100, help_text=OUTCOME.help)
    body = serializers.JSONField(required=False, allow_null=True, help_text=BODY.help)


_ASK_AGAIN = (
    "The key is resolved: nothing of it fires that has not begun. The database did not let all of its jobs be cancelled"
    " in time, and which ones are running is not known: ask again."
)


ResolutionSerializer = serializer_of(
    answers.Resolution,
    example={
        "biz_id": "order-42", "biz_types": ["order.remind", "order.close"], "accepted": True,
        "cancelled": [CREATED["id"]], "running": [], "answered": None, "status": "", "too_late": False, "detail": "",
    },
)  # fmt: skip
LiftedResolveSerializer = serializer_of(answers.Lifted, name="LiftedResolve", example={"lifted": 1})


class ResolveViews(ApiViewSet):
    """All jobs of one business key."""

    queryset = Job.objects.none()
    serializer_class = ResolutionSerializer

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

        With an `outcome`, a `body` or both it answers the jobs of it that wait for an answer: those of biz types with
        `on_resolved`. 409, `answered`, where another answer was there; the same one once more is a 200.

        202, with `accepted: false`, where the database did not let all of it be done in time: the key is resolved, so
        that nothing fires that has not begun, but not all jobs are cancelled and `running` is not known. Ask again
        after `Retry-After`.
        """
        if is_null(fields.get("body")):
            fields.pop("body", None)  # null says nothing, as in a job
        done = jobs.resolve(**fields, seen_by=request.user, by=actor_of(request))
        resolution = json_of(
            answers.Resolution,
            done,
            biz_types=list(done.biz_types),
            accepted=bool(done.accepted),
            cancelled=[str(each) for each in done.cancelled or ()],
            running=None if done.running is None else [str(each) for each in done.running],
            answered=None if done.answered is None else str(done.answered),
            detail="" if done.accepted else _ASK_AGAIN,
        )
        if done.accepted:
            return Response(resolution)
        return Response(resolution, status=202, headers={"Retry-After": str(RETRY_SECONDS)})

    @endpoint("Lift a resolve", Scope.JOBS_WRITE, takes=LiftRequestSerializer, gives=LiftedResolveSerializer)
    def lift(self, request: Request, fields: dict[str, Any]) -> Response:
        """Lets new jobs of a resolved business key fire again. Jobs that were cancelled stay so."""
        lifted = jobs.lift(**fields, seen_by=request.user, by=actor_of(request))
        return Response({"lifted": lifted})
