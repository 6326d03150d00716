"""Jobs in the admin: people find them, read them and apply verbs to them."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp import jobs
from tasksapp.access.quotas import refusal_words
from tasksapp.admin.audit.history import AuditHistory
from tasksapp.admin.frame.delivery_banner import ShowsDelivery
from tasksapp.admin.frame.masking import may_see_bodies
from tasksapp.admin.frame.own_page import Crumb, at, own_page
from tasksapp.admin.frame.possible_rows import OnlyRead
from tasksapp.admin.frame.requests import actor_of
from tasksapp.admin.jobs.actions import (
    MOST_AT_ONCE,
    RescheduleForm,
    apply_to_jobs,
    confirm_or_apply,
    confirm_page,
)
from tasksapp.admin.jobs.editing import JobForm
from tasksapp.admin.jobs.link_pages import LinkPages, shown_links
from tasksapp.admin.jobs.listing import exported, formats_for, list_context
from tasksapp.admin.jobs.page import VERBS, page_context
from tasksapp.admin.jobs.search import BadSearch
from tasksapp.errors import InvalidJob, KeyResolved, OneIsLive, QuotaUsedUp, VersionConflict, WrongState
from tasksapp.jobs.verb_words import FOR_GOOD
from tasksapp.jobs.verbs import Verb
from tasksapp.models import Job, Status


class JobPages(LinkPages):
    """A part of a ModelAdmin: its pages."""

    def get_urls(self) -> list[URLPattern]:
        """The addresses of the verbs that a button of a job's page applies, and all others."""
        of_verbs = [
            path(
                f"<uuid:job_id>/{verb.word}/",
                self.admin_site.admin_view(partial(self.verb_view, verb=verb)),
                name=f"tasksapp_job_{verb.word}",
            )
            for verb in VERBS
            if verb is not Verb.RESCHEDULE
        ]
        return [*of_verbs, *super().get_urls()]

    # ------------------------------------------------------------ looking

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list; a posted action is applied to the chosen jobs, and leads back to it."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            return self._act(request) or HttpResponseRedirect(request.get_full_path())
        context = {**list_context(request, site=self.admin_site.name), "export_formats": formats_for(request)}
        page = own_page(
            request,
            site=self.admin_site,
            template="admin/tasksapp/job/change_list.html",
            title=_("Jobs"),
            context={**context, "opts": self.opts, "media": self.media, **(extra_context or {})},
        )
        page.status_code = 400 if context["is_bad"] else 200
        return page

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of a job. There is no page to add one."""
        del form_url
        if object_id is None or not self.has_view_or_change_permission(request):
            raise PermissionDenied
        if request.method != "GET":
            # Nothing is saved here: each verb has an address of its own.
            return HttpResponseRedirect(request.get_full_path())
        job = self._job(object_id)
        if job is None:
            gone = _("There is no job %(id)s: retention may have deleted it.") % {"id": object_id[:100]}
            messages.warning(request, gone)
            return self.to("changelist")
        site = self.admin_site.name
        links = {"links": shown_links(request, job, site=site)}
        context = {**page_context(request, job, site=site), **links, **(extra_context or {})}
        return self.own_page(request, "admin/tasksapp/job/change_form.html", job.biz_id or str(job.id), context)

    @at("export/")
    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """All jobs of the list that the address names, as a file. Raises PermissionDenied."""
        if not (self.has_view_permission(request) and formats_for(request)):
            raise PermissionDenied(_("You may not export jobs: your account has no permission for it."))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            return exported(request)
        except BadSearch as error:
            messages.error(request, str(error))
            return self.to("changelist")

    # ------------------------------------------------------------ acting

    def verb_view(self, request: HttpRequest, job_id: UUID, verb: Verb) -> HttpResponse:
        """Applies the verb to a job, and leads back to its page; asks first where nothing undoes the verb.

        Raises PermissionDenied without the permission for the verb, Http404 where there is no such job.
        """
        self.require(request, verb.word)
        if request.method == "POST":
            apply_to_jobs(request, verb, [job_id])
        elif verb.word in FOR_GOOD:
            above = self._above(self._job_or_404(job_id))
            crumbs = [Crumb(_("Jobs"), self.address("changelist")), above]
            return confirm_page(request, verb, [job_id], site=self.admin_site, crumbs=crumbs, back=above.url)
        return self.to("change", job_id)

    @at("reschedule/")
    def reschedule_view(self, request: HttpRequest) -> HttpResponse:
        """Reschedules jobs to the time that was given, or asks for it.

        Raises Http404 where an id is none, PermissionDenied without the permission to move jobs.
        """
        self.require(request, Verb.RESCHEDULE.word)
        given = request.POST.getlist(ACTION_CHECKBOX_NAME) or request.GET.getlist("id")
        try:
            ids = [UUID(found) for found in given]
        except ValueError:
            raise Http404("One of these is not a job id.") from None
        back = self.address("change", *ids) if len(ids) == 1 else self.address("changelist")
        if not 0 < len(ids) <= MOST_AT_ONCE:
            messages.error(request, _("Nothing was changed: choose 1 to %(most)d jobs.") % {"most": MOST_AT_ONCE})
            return HttpResponseRedirect(back)
        if request.method == "POST":
            form = RescheduleForm(request.POST)
            if form.is_valid():
                apply_to_jobs(request, Verb.RESCHEDULE, ids, due_at=form.cleaned_data["due_at"])
                return HttpResponseRedirect(back)
            return self._ask_for_time(request, ids, back=back, form=form)
        return self._ask_for_time(request, ids, back=back)

    @at("<uuid:job_id>/edit/")
    def edit_view(self, request: HttpRequest, job_id: UUID) -> HttpResponse:
        """The form of a job that waits; stores it, where it is valid and the job has not changed meanwhile.

        Raises PermissionDenied without the permission to edit jobs, Http404 where there is no such job.
        """
        self.require(request, "edit")
        job = self._job_or_404(job_id)
        back = self.address("change", job.id)
        sees = may_see_bodies(request)
        if job.status != Status.PENDING:
            refused = _("This job can no longer be edited: it is %(status)s.") % {"status": job.get_status_display()}
            messages.error(request, refused)
            return HttpResponseRedirect(back)
        if job.blank_unreadable():
            messages.error(request, _("It cannot be edited: no key of ENCRYPTION_KEYS opens what it carries."))
            return HttpResponseRedirect(back)
        form = JobForm.of(job, sees_bodies=sees)
        if request.method == "POST":
            form = JobForm(job, request.POST, sees_bodies=sees)
            if form.is_valid() and self._store(request, job, form):
                return HttpResponseRedirect(back)
        context = {"form": form, "job": job, "back": back, "sees_bodies": sees, "media": self.media + form.media}
        title = _("Edit %(job)s") % {"job": job.biz_id or job.id}
        return self.own_page(request, "admin/tasksapp/job/edit.html", title, context, above=self._above(job))

    def _store(self, request: HttpRequest, job: Job, form: JobForm) -> bool:
        """Whether what the person changed is stored; else the form says why it is not."""
        changes = form.changes(job)
        given = form.cleaned_data
        try:
            edited = jobs.edit(
                job.id, version=given["version"], by=actor_of(request), reason=given["reason"], **changes
            )
        except VersionConflict:
            form.add_error(None, _("The job has changed since you opened this form. Nothing is stored: open it again."))
            return False
        except WrongState as error:
            status = Status(error.status).label
            form.add_error(None, _("The job can no longer be edited: it is %(status)s.") % {"status": status})
            return False
        except InvalidJob as error:
            form.add_error(form.field_of(error), error.message)
            return False
        except (KeyResolved, OneIsLive) as error:
            form.add_error("biz_id", str(error))
            return False
        except QuotaUsedUp as error:
            form.add_error(None, refusal_words(error))
            return False
        if edited.version == given["version"]:
            messages.info(request, _("Nothing was changed."))
        else:
            messages.success(request, _("The job was changed."))
        return True

    def _act(self, request: HttpRequest) -> HttpResponse | None:
        """Applies the posted action; the page that asks first, where there is one. Raises BadRequest."""
        name = request.POST.get("action", "")
        try:
            ids = [UUID(given) for given in request.POST.getlist(ACTION_CHECKBOX_NAME)]
        except ValueError:
            raise BadRequest("One of the chosen rows has no valid id.") from None
        verb = next((verb for verb in Verb if verb.word == name), None)
        if verb is None:
            raise BadRequest("There is no such action.")
        if not ids:
            messages.warning(request, _("Nothing was changed: choose jobs first."))
            return None
        if verb is not Verb.RESCHEDULE:
            return confirm_or_apply(request, verb, ids)
        self.require(request, verb.word)
        if len(ids) > MOST_AT_ONCE:
            messages.error(request, _("Nothing was changed: choose 1 to %(most)d jobs.") % {"most": MOST_AT_ONCE})
            return None
        return self._ask_for_time(request, ids, back=request.get_full_path())

    def _ask_for_time(
        self, request: HttpRequest, ids: list[UUID], *, back: str, form: RescheduleForm | None = None
    ) -> TemplateResponse:
        form = form or RescheduleForm(initial={"due_at": timezone.localtime()})
        for widget, label in zip(form.fields["due_at"].widget.widgets, (_("Day"), _("Time")), strict=True):
            widget.attrs["aria-label"] = label
        title = ngettext("Reschedule %(count)d job", "Reschedule %(count)d jobs", len(ids)) % {"count": len(ids)}
        context = {
            "form": form,
            "ids": ids,
            "ids_name": ACTION_CHECKBOX_NAME,
            "back": back,
            "media": self.media + RescheduleForm().media,
        }
        return self.own_page(request, "tasksapp/admin/reschedule.html", title, context)

    # ------------------------------------------------------------ pieces

    def _above(self, job: Job) -> Crumb:
        return Crumb(job.biz_id or str(job.id), self.address("change", job))

    def _job(self, object_id: str | UUID) -> Job | None:
        try:
            job_id = object_id if isinstance(object_id, UUID) else UUID(object_id.replace("_2D", "-"))
        except ValueError:
            return None
        return Job.objects.select_related("biz_type__tenant").filter(id=job_id).first()

    def _job_or_404(self, job_id: UUID) -> Job:
        job = self._job(job_id)
        if job is None:
            raise Http404("There is no such job.")
        return job


class JobAdmin(OnlyRead, ShowsDelivery, JobPages, AuditHistory):
    """Jobs with their status, times and attempts. Callers create them, verbs change them, retention deletes them."""

    def audit_of(self, row: Any) -> Q:
        """What was done to the job."""
        return Q(job_id=row.pk)
