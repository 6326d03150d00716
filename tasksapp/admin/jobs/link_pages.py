"""LinkPages: makes links by which people answer a job that waits, shows each once, and withdraws them."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from tasksapp import jobs
from tasksapp.access.permissions import may
from tasksapp.admin.frame.fragments import address
from tasksapp.admin.frame.masking import ShownOnce
from tasksapp.admin.frame.own_page import Crumb, at
from tasksapp.admin.frame.requests import actor_of
from tasksapp.admin.jobs.resolve_pages import ResolvePages
from tasksapp.errors import JobError, LinkNotFound
from tasksapp.models import AnswerLink, Job

FIELDS = ("given_to", "question", "outcomes")


class LinkPages(ResolvePages):
    """A part of a ModelAdmin: its pages."""

    @at("<uuid:job_id>/link/")
    def link_view(self, request: HttpRequest, job_id: UUID) -> HttpResponse:
        """Makes a link of the job and shows its address in answer to the form itself; asks for what it says first.

        Raises PermissionDenied without the permission to cancel jobs, Http404 where there is no such job.
        """
        job = self._keyed_job(request, job_id, verb="cancel")
        back, made, error = self.address("change", job), None, ""
        if request.method == "POST":
            try:
                made = jobs.make_link(
                    job.id,
                    outcomes=[line for line in map(str.strip, request.POST.get("outcomes", "").splitlines()) if line],
                    given_to=request.POST.get("given_to", "").strip(),
                    question=request.POST.get("question", "").strip(),
                    by=actor_of(request),
                )
            except JobError as refused:
                error = _("Nothing was changed: %(why)s") % {"why": refused}
        context: dict[str, Any] = {
            "job": job,
            "back": back,
            "error": error,
            "given": {name: request.POST.get(name, "") for name in FIELDS},
            "link": made and made.link,
            "url": ShownOnce(made.url) if made else "",
        }
        title = _("A link that answers %(job)s") % {"job": job.biz_id}
        page = self.own_page(request, "tasksapp/admin/answer_link.html", title, context, above=Crumb(job.biz_id, back))
        add_never_cache_headers(page)
        return page

    @at("<uuid:job_id>/links/<int:link_id>/withdraw/")
    def withdraw_link_view(self, request: HttpRequest, job_id: UUID, link_id: int) -> HttpResponse:
        """Withdraws a link of the job, and leads back to the job.

        Raises PermissionDenied without the permission to cancel jobs, Http404 where there is no such link.
        """
        self.require(request, "cancel")
        if request.method == "POST":
            try:
                jobs.withdraw_link(job_id, link_id, by=actor_of(request))
            except LinkNotFound:
                raise Http404("There is no such link that was not used.") from None
            messages.success(request, _("The link was withdrawn: nobody answers by it any more."))
        return self.to("change", job_id)


class ShownLink(NamedTuple):
    """A link as the job's page shows it; ``withdraw_url`` is '' where nothing is to be withdrawn."""

    link: AnswerLink
    withdraw_url: str


def shown_links(request: HttpRequest, job: Job, *, site: str) -> list[ShownLink]:
    """The links of a job that waits for an answer, or did; no others are asked for."""
    if not job.biz_id or not job.biz_type.on_resolved:
        return []
    is_able = may(request.user, "cancel")
    return [
        ShownLink(link, _withdraw_url(link, site=site) if is_able and link.used_at is None else "")
        for link in jobs.links_of(job.id)
    ]


def _withdraw_url(link: AnswerLink, *, site: str) -> str:
    return address("tasksapp_job_withdraw_link", link.job_id, link.pk, site=site)
