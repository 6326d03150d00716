"""Exporting what the list of jobs shows: all that match, not only those of its page."""

from __future__ import annotations

from django.core.exceptions import BadRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.access.permissions import EXPORT
from tasksapp.admin.frame.masking import may_see_bodies
from tasksapp.admin.frame.requests import actor_of
from tasksapp.admin.jobs.listing import biz_types_of_list, check_search
from tasksapp.admin.jobs.search import BadSearch, JobSearch
from tasksapp.jobs.export import FORMATS, Export, streamed
from tasksapp.jobs.listing import TookTooLong


def formats_for(request: HttpRequest) -> list[str]:
    """The formats in which the person may export jobs; none without the rights to do so and to see bodies."""
    return [*FORMATS] if request.user.has_perm(EXPORT) and may_see_bodies(request) else []


def exported(request: HttpRequest) -> StreamingHttpResponse:
    """The answer with the jobs that the address asks for. Raises BadRequest, and BadSearch with a sentence."""
    kind = request.POST.get("format", "")
    if kind not in FORMATS:
        raise BadRequest("There is no such format.")
    biz_types = biz_types_of_list()
    search = JobSearch.parse(request.GET)
    check_search(request, search, biz_types)
    if search.body:
        raise BadSearch(_("What a search in bodies finds cannot be exported."))
    asked = {name: values if len(values) > 1 else values[0] for name, values in request.GET.lists() if any(values)}
    try:
        export = Export(search.job_list(biz_types, now=timezone.now()), kind, by=actor_of(request), asked=asked)
    except TookTooLong:
        raise BadSearch(_("This took too long. Choose a biz type, a tab or a range of time.")) from None
    return streamed(request, export, kind=kind)
