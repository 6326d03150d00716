"""ResolvePages: resolves the biz id of a job, after asking for which biz types, and takes a resolve back.

It also runs a job again that has succeeded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp import jobs
from tasksapp.access.actors import Actor
from tasksapp.access.audit import REASON_LENGTH
from tasksapp.access.permissions import may
from tasksapp.admin.frame.own_page import Crumb, OwnPages, at
from tasksapp.admin.frame.requests import actor_of
from tasksapp.admin.jobs.page import live_biz_types
from tasksapp.errors import InvalidJob, JobError
from tasksapp.jobs.resolving import Resolution
from tasksapp.models import Job
from tasksapp.models.encrypted_text import SecretUnreadable


class ResolvePages(OwnPages):
    """A part of a ModelAdmin: its pages."""

    @at("<uuid:job_id>/resolve/")
    def resolve_view(self, request: HttpRequest, job_id: UUID) -> HttpResponse:
        """Resolves the job's biz id in the biz types that the person chose; asks for them first.

        Raises PermissionDenied without the permission to cancel jobs, Http404 where there is no such job.
        """
        job = self._keyed_job(request, job_id, verb="cancel")
        back = self.address("change", job_id)
        found = live_biz_types(job)
        if request.method == "POST":
            chosen = [biz_type for biz_type in found if str(biz_type.pk) in request.POST.getlist("biz_type")]
            if not chosen:
                messages.error(request, _("Nothing was changed: choose a biz type."))
                return HttpResponseRedirect(request.get_full_path())
            try:
                outcome = jobs.resolve(
                    [biz_type.code for biz_type in chosen],
                    job.biz_id,
                    **_answer(request),
                    tenant=job.biz_type.tenant.code,
                    by=actor_of(request),
                    reason=request.POST.get("reason", ""),
                )
            except JobError as error:
                messages.error(request, _("Nothing was changed: %(why)s") % {"why": error})
                return HttpResponseRedirect(request.get_full_path())
            _report(request, outcome)
            return HttpResponseRedirect(back)
        asks = any(biz_type.on_resolved for biz_type in found)
        context = {"job": job, "biz_types": found, "back": back, "longest_reason": REASON_LENGTH, "asks": asks}
        title = _("Resolve “%(biz_id)s”?") % {"biz_id": job.biz_id}
        return self.own_page(request, "tasksapp/admin/resolve.html", title, context, above=Crumb(job.biz_id, back))

    @at("<uuid:job_id>/lift/")
    def lift_view(self, request: HttpRequest, job_id: UUID) -> HttpResponse:
        """Takes the resolve of the job's biz id back, in the job's biz type, and leads back to the job.

        Raises PermissionDenied without the permission to redrive jobs, Http404 where there is no such job.
        """
        job = self._keyed_job(request, job_id, verb="redrive")
        if request.method == "POST":
            try:
                lifted = jobs.lift(job.biz_type.code, job.biz_id, tenant=job.biz_type.tenant.code, by=actor_of(request))
            except JobError as error:
                messages.error(request, _("Nothing was changed: %(why)s") % {"why": error})
                return self.to("change", job_id)
            if lifted:
                messages.success(request, _("The resolve was lifted: new jobs of this biz id fire again."))
            else:
                messages.info(request, _("Nothing was changed."))
        return self.to("change", job_id)

    @at("<uuid:job_id>/run-again/")
    def run_again_view(self, request: HttpRequest, job_id: UUID) -> HttpResponse:
        """Makes a new job with what the job carries, and leads to it; to the job where that has not succeeded.

        Raises PermissionDenied without the permission to run jobs now.
        """
        done = _("This is a new job with the content of the one before; it is due now.")
        return self._made(request, job_id, lambda by: jobs.run_again(job_id, by=by).job_id, done=done)

    @at("<uuid:job_id>/follow-up/")
    def follow_up_view(self, request: HttpRequest, job_id: UUID) -> HttpResponse:
        """Makes what was to follow from the job and could not be made, and leads to it.

        Raises PermissionDenied without the permission to run jobs now.
        """
        done = _("This job was missing; it is due now.")
        return self._made(request, job_id, lambda by: jobs.follow_up_again(job_id, by=by), done=done)

    def _made(self, request: HttpRequest, job_id: UUID, make: Callable[[Actor], UUID], *, done: str) -> HttpResponse:
        """Leads to the job that is made, or back where nothing is made."""
        self.require(request, "run_now")
        if request.method != "POST":
            return self.to("change", job_id)
        try:
            made = make(actor_of(request))
        except (JobError, SecretUnreadable) as error:
            messages.error(request, _("Nothing was changed: %(why)s") % {"why": error})
            return self.to("change", job_id)
        messages.success(request, done)
        return self.to("change", made)

    def require(self, request: HttpRequest, verb: str) -> None:
        """Raises PermissionDenied where the person may not apply the verb of that name."""
        if not self.has_view_or_change_permission(request) or not may(request.user, verb):
            raise PermissionDenied(_("You may not do this to jobs: your account has no permission for it."))

    def _keyed_job(self, request: HttpRequest, job_id: UUID, *, verb: str) -> Job:
        self.require(request, verb)
        job = Job.objects.select_related("biz_type__tenant").filter(id=job_id).exclude(biz_id="").first()
        if job is None:
            raise Http404("There is no such job with a biz id.")
        return job


def _answer(request: HttpRequest) -> dict[str, Any]:
    """The answer that the person gave. Raises InvalidJob where it is no JSON."""
    text = request.POST.get("body", "").strip()
    try:
        return {"outcome": request.POST.get("outcome", "").strip() or None, "body": json.loads(text or "null")}
    except (ValueError, RecursionError):
        raise InvalidJob("body", "invalid", _("The answer must be JSON.")) from None


def _report(request: HttpRequest, outcome: Resolution) -> None:
    cancelled, running = len(outcome.cancelled or ()), len(outcome.running or ())
    if outcome.accepted is False:
        messages.warning(
            request,
            _(
                "The biz id is resolved: nothing of it fires that has not begun. The database did not let all of its"
                " jobs be cancelled in time: resolve it again to see which ones are running."
            ),
        )
        return
    if not outcome.accepted:
        # Within ATOMIC_REQUESTS the transaction is committed after this answer was made.
        messages.success(request, _("The biz id is resolved: its pending jobs are cancelled."))
        return
    done = ngettext(
        "The biz id is resolved: %(count)d pending job was cancelled.",
        "The biz id is resolved: %(count)d pending jobs were cancelled.",
        cancelled,
    )
    messages.success(request, done % {"count": cancelled})
    if outcome.too_late:
        messages.warning(request, _("The answer came too late: its job was no longer waiting."))
    if running:
        left = ngettext(
            "%(count)d job is running: it is not tried again.",
            "%(count)d jobs are running: they are not tried again.",
            running,
        )
        messages.warning(request, left % {"count": running})
