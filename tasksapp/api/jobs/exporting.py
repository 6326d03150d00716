"""Exporting jobs over REST: all that a filter names, streamed."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from django.db import router
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request

from tasksapp.access.callers import Caller
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.problems import Refused, refused
from tasksapp.api.jobs.listing import DescribedAll, took_too_long
from tasksapp.api.jobs.query import JobQuery
from tasksapp.biz_types.visible import visible_biz_types
from tasksapp.errors import TooManyExports
from tasksapp.jobs.export import FORMATS, Export, sent
from tasksapp.jobs.listing import TookTooLong
from tasksapp.models import Job

#: When a caller that was refused is to try again, in seconds.
RETRY_SECONDS = 5
#: What a list takes and an export does not.
_OF_PAGES = ("body", "limit", "cursor")


class _Described(DescribedAll):
    """The filters of an export, for OpenAPI."""

    body = None  # type: ignore[assignment]  # REST framework leaves it out
    limit = None  # type: ignore[assignment]  # REST framework leaves it out
    cursor = None  # type: ignore[assignment]  # REST framework leaves it out
    format = serializers.ChoiceField(choices=list(FORMATS), default="ndjson", help_text="Lines of JSON, or CSV.")


#: For OpenAPI.
EXPORT_PARAMETERS = [_Described]
EXPORT_ANSWERS: dict[Any, Any] = {
    (200, media): OpenApiResponse(
        OpenApiTypes.STR, "The file.", examples=[OpenApiExample("A file", text, media_type=media)]
    )
    for media, text in {
        "application/x-ndjson": '{"id":"01a1fcb9-e182-7773-bac4-bf777e5e56f2","biz_type":"order.close"}',
        "text/csv": "id,biz_type",
    }.items()
}


def export_jobs(request: Request) -> StreamingHttpResponse:
    """The answer with all jobs that the request asks for.

    Raises Refused: 400 where a parameter cannot be, or where no index leads to the first of them in time; 429 where as
    many exports are being sent as may be at once.
    """
    params = request.query_params
    kind = params.get("format", "ndjson")
    if kind not in FORMATS:
        raise refused("format", "invalid", f"format must be one of {', '.join(FORMATS)}")
    for name in _OF_PAGES:
        if name in params:
            raise refused(name, "unknown", f"an export has no {name}")
    query, using = JobQuery.parse(params, dead=False), router.db_for_read(Job)
    listed = query.list_of(visible_biz_types(request.user, using=using).select_related("tenant"), using=using)
    asked = {name: values if len(values) > 1 else values[0] for name, values in params.lists() if name != "format"}

    def begin() -> Export:
        # Callers know no tenants: in all answers a biz type has its code.
        return Export(listed, kind, by=actor_of(request), asked=asked, named=attrgetter("code"))

    try:
        return sent(request._request, begin, kind=kind, holder=_holder(request))
    except TooManyExports as error:
        raise Refused.of("too_many_exports", str(error), again_seconds=RETRY_SECONDS) from None
    except TookTooLong:
        raise took_too_long() from None


def _holder(request: Request) -> str:
    """Return whose share of the exports this one counts to: a tenant's keys have one together."""
    caller: Any = request.user
    return f"tenant {caller.tenant_id}" if isinstance(caller, Caller) else actor_of(request).name
