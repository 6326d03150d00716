"""The views of answer links: addresses by which people answer a job, once and without a login."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import jobs as answers
from tasksapp import jobs
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.jobs.changing import changeable
from tasksapp.api.jobs.views import job_id
from tasksapp.errors import JobNotFound
from tasksapp.jobs.answer_links import EXPIRES_AT, GIVEN_TO, MOST_OUTCOMES, QUESTION
from tasksapp.models import Job
from tasksapp.models.api_key import Scope

_EXAMPLE = {
    "id": 7, "given_to": "ada@shop.example", "question": "May expense 42 be paid?",
    "outcomes": ["approved", "rejected"], "expires_at": "2027-01-31T10:00:00Z", "used_at": None,
    "created_at": "2027-01-28T10:00:00Z", "created_by": "api:expenses",
}  # fmt: skip
AnswerLinkSerializer = serializer_of(answers.AnswerLink, example=_EXAMPLE)
NewAnswerLinkSerializer = serializer_of(
    answers.NewAnswerLink, example={**_EXAMPLE, "url": "https://delayhub.example/api/answer#pQ3cZ7…"}
)


class AnswerLinkRequestSerializer(CheckedRequest):
    """Who gets the link, and what may be answered by it."""

    example = {"given_to": "ada@shop.example", "outcomes": ["approved", "rejected"], "question": _EXAMPLE["question"]}

    given_to = serializers.CharField(max_length=100, help_text=GIVEN_TO.help)
    outcomes = serializers.ListField(
        child=serializers.CharField(max_length=100), min_length=1, max_length=MOST_OUTCOMES, help_text="The answers."
    )
    question = serializers.CharField(required=False, allow_blank=True, max_length=500, help_text=QUESTION.help)
    expires_at = serializers.DateTimeField(required=False, allow_null=True, help_text=EXPIRES_AT.help)


class LinkViews(ApiViewSet):
    """The answer links of one job."""

    queryset = Job.objects.none()
    serializer_class = AnswerLinkSerializer
    pagination_class = None

    @endpoint("List answer links", Scope.JOBS_LINK, gives=AnswerLinkSerializer(many=True))
    def list(self, request: Request, pk: str) -> Response:
        """The links of the job, the newest first, without their addresses."""
        return Response([json_of(answers.AnswerLink, link) for link in jobs.links_of(_seen(request, pk))])

    @endpoint(
        "Make an answer link",
        Scope.JOBS_LINK,
        takes=AnswerLinkRequestSerializer,
        status=201,
        gives=OpenApiResponse(NewAnswerLinkSerializer, "The link. No other answer has its address."),
    )
    def create(self, request: Request, pk: str, fields: dict[str, Any]) -> Response:
        """Makes an address by which a person answers the job, once: send it to them.

        The job is pending, has a biz id, and its biz type has `on_resolved`. The link ends when the job is due.
        """
        made = jobs.make_link(_seen(request, pk), **fields, by=actor_of(request))
        return Response(json_of(answers.NewAnswerLink, made.link, url=made.url), status=201)

    @endpoint(
        "Withdraw an answer link",
        Scope.JOBS_LINK,
        gives={204: OpenApiResponse(None, "Nobody answers by it any more.")},
        parameters=[
            OpenApiParameter("number", OpenApiTypes.INT64, OpenApiParameter.PATH, description="The link's id.")
        ],
    )
    def destroy(self, request: Request, pk: str, number: str) -> HttpResponse:
        """Deletes a link that was not used."""
        jobs.withdraw_link(_seen(request, pk), int(number), by=actor_of(request))
        return HttpResponse(status=204)


def _seen(request: Request, pk: str) -> UUID:
    """The id of the job, which the caller sees. Raises Http404 and JobNotFound."""
    found = job_id(pk)
    if not changeable(request).filter(id=found).exists():
        raise JobNotFound(f"there is no job {pk}")
    return found
