"""The views of biz types, and of jobs by their business key."""

from __future__ import annotations

from typing import ClassVar

from django.http import Http404
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp import jobs
from tasksapp.api.http.actors import actor_of
from tasksapp.api.http.openapi import described
from tasksapp.api.http.view import ApiViewSet, fields_of
from tasksapp.api.job_views import shown, version_of
from tasksapp.api.representation.biz_type import BizTypeSerializer, biz_type_json
from tasksapp.api.representation.job import JobSerializer
from tasksapp.api.requests import MOVE_FIELDS, MoveRequestSerializer, VerbRequestSerializer, only_known
from tasksapp.jobs.business_key import named
from tasksapp.models import BizType
from tasksapp.models.api_key import Scope

BIZ_ID = r"jobs/(?P<biz_id>[^/]{1,200})"


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
        "job": Scope.JOBS_READ,
        "move_job": Scope.JOBS_WRITE,
        "cancel_job": Scope.JOBS_WRITE,
        "run_job": Scope.JOBS_ACT,
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

    @described(summary="Look a job up by business key", responses=JobSerializer)
    @action(detail=True, methods=["get"], url_path=BIZ_ID, url_name="job")
    def job(self, request: Request, code: str, biz_id: str) -> Response:
        """The newest job with that business key."""
        found = named(code, biz_id).first()
        if found is None:
            raise Http404(f"There is no job of {code} with the biz id {biz_id!r}.")
        return shown(found)

    @described(summary="Move a job by business key", request=MoveRequestSerializer, responses=JobSerializer)
    @job.mapping.patch
    def move_job(self, request: Request, code: str, biz_id: str) -> Response:
        """Moves the one live job with that business key to another time."""
        fields = fields_of(request)
        only_known(fields, MOVE_FIELDS)
        return shown(jobs.reschedule(jobs.find_live(code, biz_id).id, **fields, by=actor_of(request)))

    @described(summary="Cancel a job by business key", request=VerbRequestSerializer, responses=JobSerializer)
    @action(detail=True, methods=["post"], url_path=f"{BIZ_ID}/cancel", url_name="job-cancel")
    def cancel_job(self, request: Request, code: str, biz_id: str) -> Response:
        """Cancels the one live job with that business key."""
        version = version_of(request)
        return shown(jobs.cancel(jobs.find_live(code, biz_id).id, **version, by=actor_of(request)))

    @described(summary="Run a job now by business key", request=VerbRequestSerializer, responses=JobSerializer)
    @action(detail=True, methods=["post"], url_path=f"{BIZ_ID}/run", url_name="job-run")
    def run_job(self, request: Request, code: str, biz_id: str) -> Response:
        """Makes the one live job with that business key due at once."""
        version = version_of(request)
        return shown(jobs.run_now(jobs.find_live(code, biz_id).id, **version, by=actor_of(request)))
