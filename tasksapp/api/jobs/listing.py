"""The list of jobs: pages in an order that an index has, found within a deadline."""

from __future__ import annotations

from typing import Any

from django.db import router
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from tasksapp.api.http.problems import Refused
from tasksapp.api.jobs.query import (
    MOST_FOUND,
    MOST_JOBS,
    MOST_TEXT,
    ORDERS,
    USUAL_LIMIT,
    JobQuery,
    cursor_of,
)
from tasksapp.api.jobs.representation import EXAMPLE, JobSerializer, job_json
from tasksapp.biz_types.visible import visible_biz_types
from tasksapp.jobs.job_filter import MOST_IDS
from tasksapp.jobs.listing import DEADLINE_SECONDS, JobList, TookTooLong
from tasksapp.jobs.validation import CODE
from tasksapp.models import Job, Status


class _Described(serializers.Serializer[Any]):
    """The filters of both lists, for OpenAPI."""

    biz_type = serializers.RegexField(CODE, max_length=100, required=False, help_text="The code of a biz type.")
    biz_id = serializers.CharField(
        required=False, max_length=201, help_text="The whole biz id, or the beginning of it and `*`."
    )
    flow_key = serializers.CharField(required=False, max_length=100, help_text="The whole flow key.")
    error_class = serializers.CharField(required=False, max_length=40, help_text="Such as `http.503` or `timeout`.")
    ids = serializers.ListField(
        child=serializers.UUIDField(), required=False, max_length=MOST_IDS, help_text="May be given several times."
    )
    due_from = serializers.DateTimeField(required=False, help_text="Due then or later.")
    due_until = serializers.DateTimeField(required=False, help_text="Due earlier than that.")
    next_from = serializers.DateTimeField(required=False, help_text="Runs next then or later.")
    next_until = serializers.DateTimeField(required=False)
    ended_from = serializers.DateTimeField(required=False, help_text="Finished then or later.")
    ended_until = serializers.DateTimeField(required=False)
    created_from = serializers.DateTimeField(required=False, help_text="Created then or later.")
    created_until = serializers.DateTimeField(required=False)
    operation = serializers.IntegerField(
        required=False, min_value=1, max_value=2**63 - 1, help_text="The operation that changed it last."
    )
    series = serializers.IntegerField(
        required=False, min_value=1, max_value=2**63 - 1, help_text="The series that it is one of."
    )
    occurrence_from = serializers.DateTimeField(required=False, help_text="That occurrence of its series, or later.")
    occurrence_until = serializers.DateTimeField(required=False)
    body = serializers.CharField(
        required=False,
        max_length=MOST_TEXT,
        help_text=f"A text that the body holds, letter by letter. Reads 100 000 bodies, {DEADLINE_SECONDS:g} s at most,"
        f" and gives {MOST_FOUND} jobs at most; needs `biz_type`, and a `status` of pending or finished jobs.",
    )
    limit = serializers.IntegerField(required=False, min_value=1, max_value=MOST_JOBS, default=USUAL_LIMIT)
    cursor = serializers.CharField(required=False, help_text="Where the page begins; `next` has it.")


class DescribedAll(_Described):
    """The filters of the list of all jobs."""

    status = serializers.ListField(
        child=serializers.ChoiceField(choices=Status.choices), required=False, help_text="May be given several times."
    )
    order = serializers.ChoiceField(
        choices=ORDERS,
        required=False,
        help_text="`-id`: the newest first. `next_run_at` is for pending jobs, `finished_at` for finished ones.",
    )


@extend_schema_serializer(many=False)
class JobPageSerializer(serializers.Serializer[Any]):
    """A page of jobs."""

    @property
    def example(self) -> dict[str, Any]:
        """A last page."""
        return {"next": None, "results": [EXAMPLE]}

    next = serializers.URLField(allow_null=True, help_text="The next page.")
    results = JobSerializer(many=True)
    looked_at = serializers.IntegerField(required=False, help_text="Bodies that a search has read.")
    complete = serializers.BooleanField(required=False, help_text="Whether a search has read all that it should.")
    encrypted = serializers.IntegerField(
        required=False, help_text="How many of these are encrypted at rest, so that nothing can be found in them."
    )


#: Most bytes of the bodies on a page: it has fewer jobs than ``limit`` where these are large.
PAGE_BYTES = 2_000_000
#: For OpenAPI.
DEAD_PARAMETERS = [_Described]
LIST_PARAMETERS = [DescribedAll]


def list_jobs(request: Request, *, dead: bool = False) -> Response:
    """The answer with the page of jobs that the request asks for.

    Raises Refused (400) where a parameter cannot be, or where no index leads to the page in time.
    """
    query = JobQuery.parse(request.query_params, dead=dead)
    using = router.db_for_read(Job)
    found = query.list_of(visible_biz_types(request.user, using=using).select_related("tenant"), using=using)
    return _search(found, query) if query.body else _page(found, query, request)


def _page(found: JobList, query: JobQuery, request: Request) -> Response:
    try:
        page = found.page(after=query.after, limit=query.limit, most_bytes=PAGE_BYTES)
    except TookTooLong:
        raise took_too_long() from None
    following = None
    if page.next is not None:
        following = replace_query_param(request.build_absolute_uri(), "cursor", cursor_of(page.next))
    return Response({"next": following, "results": _shown(page.jobs)})


def _search(found: JobList, query: JobQuery) -> Response:
    kind = next((each for each in found.biz_types if each.code == query.job_filter.biz_type), None)
    if kind is not None and kind.encrypted:
        detail = f"The bodies of {kind.code} are encrypted at rest: nothing can be found in them. Look by biz_id."
        raise Refused.of("encrypted", detail)
    look = found.look_for(query.body, limit=query.limit)
    return Response(
        {
            "next": None,
            "results": _shown(found.read(look.ids)),
            "looked_at": look.looked_at,
            "complete": look.is_whole,
            "encrypted": look.encrypted,
        }
    )


def _shown(jobs: list[Job]) -> list[dict[str, Any]]:
    return [job_json(job) for job in jobs]


def took_too_long() -> Refused:
    """The refusal of what no index leads to."""
    detail = (
        f"No index leads to that page within {DEADLINE_SECONDS:g} s: add a biz_type and a status, or narrow the times."
    )
    return Refused.of("took_too_long", detail)
