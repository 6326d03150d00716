"""The views of business keys with several jobs: plan them, resolve them, and take a resolve back."""

from __future__ import annotations

import json
from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import jobs as answers
from tasksapp import jobs
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.authentication import actor_of, creator_of
from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.json_body import read_object
from tasksapp.api.http.problems import RETRY_SECONDS, only_known, refused
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.jobs.creation import IDEMPOTENCY_HEADER, idempotency_key
from tasksapp.api.jobs.exact_body import is_null
from tasksapp.api.jobs.representation import CREATED, created_text
from tasksapp.api.jobs.requests import JobRequestSerializer, described, job_request
from tasksapp.conf import options
from tasksapp.jobs.plans import MOST_STEPS
from tasksapp.jobs.resolving import BODY, MOST_BIZ_TYPES, OUTCOME
from tasksapp.jobs.validation import Face
from tasksapp.models import Job
from tasksapp.models.api_key import Scope

#: What a job of a plan may say; the business key is the plan's.
STEP_FIELDS = frozenset(described(Face.PLAN))


class PlannedJobSerializer(serializers.Serializer[Any]):
    """A job of a plan, at a time that `due_at` or `delay` says; with neither, it is due at once."""

    rules = JobRequestSerializer.rules
    example = {"biz_type": "order.close", "delay": 1800, "body": {"order": 42}}

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Those of a job, but for its keys."""
        return described(Face.PLAN)


class PlanRequestSerializer(serializers.Serializer[Any]):
    """Several jobs of one business key, which are created together or not at all."""

    example = {
        "biz_id": "order-42",
        "jobs": [{"biz_type": "order.remind", "delay": 1500}, PlannedJobSerializer.example],
    }

    biz_id = serializers.CharField(max_length=200, min_length=1, help_text="The business key of all its jobs.")
    jobs = serializers.ListField(child=PlannedJobSerializer(), min_length=1, max_length=MOST_STEPS)


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


def planned(fields: dict[str, Any]) -> tuple[str, list[jobs.JobRequest]]:
    """The business key and the jobs of a plan. Raises Refused where the request does not say them."""
    only_known(fields, {"biz_id", "jobs"})
    listed, biz_id = fields.get("jobs"), fields.get("biz_id")
    if not isinstance(biz_id, str) or not biz_id:
        raise refused("biz_id", "required", "biz_id is required, and may not be empty")
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_STEPS:
        raise refused("jobs", "invalid", f"jobs must be a list of 1 to {MOST_STEPS} jobs")
    if not all(isinstance(each, dict) for each in listed):
        raise refused("jobs", "invalid", "each job must be a JSON object")
    return biz_id, [job_request(each, known=STEP_FIELDS) for each in listed]


_ASK_AGAIN = (
    "The key is resolved: nothing of it fires that has not begun. The database did not let all of its jobs be cancelled"
    " in time, and which ones are running is not known: ask again."
)


PlanSerializer = serializer_of(
    answers.Plan,
    example={"biz_id": "order-42", "biz_types": ["order.close"], "jobs": [CREATED]},
)
ResolutionSerializer = serializer_of(
    answers.Resolution,
    example={
        "biz_id": "order-42", "biz_types": ["order.remind", "order.close"], "accepted": True,
        "cancelled": [CREATED["id"]], "running": [], "answered": None, "status": "", "too_late": False, "detail": "",
    },
)  # fmt: skip
LiftedResolveSerializer = serializer_of(answers.Lifted, name="LiftedResolve", example={"lifted": 1})


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
        made = [json.loads(created_text(job)) for job in plan.jobs]
        return Response({"biz_id": biz_id, "biz_types": list(plan.biz_types), "jobs": made}, status=201)

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
