"""Jobs in the admin: people find them, read them and apply verbs to them."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp import jobs
from tasksapp.access.permissions import may
from tasksapp.admin.audit.history import AuditHistory
from tasksapp.admin.frame.delivery_banner import ShowsDelivery
from tasksapp.admin.frame.masking import may_see_bodies
from tasksapp.admin.frame.own_page import Crumb, own_page
from tasksapp.admin.frame.possible_rows import OnlyRead
from tasksapp.admin.frame.requests import actor_of
from tasksapp.admin.jobs.actions import (
    ASK_FIRST,
    BUTTONS,
    CONFIRMED,
    LONGEST_REASON,
    Button,
    RescheduleForm,
    confirm_or_apply,
    press_button,
    reschedule_jobs,
)
from tasksapp.admin.jobs.editing import JobForm
from tasksapp.admin.jobs.listing import list_context
from tasksapp.admin.jobs.page import page_context
from tasksapp.admin.jobs.resolve_pages import ResolvePages
from tasksapp.errors import InvalidJob, KeyResolved, OneIsLive, VersionConflict, WrongState
from tasksapp.jobs.verbs import Verb
from tasksapp.models import Job, Status

#: Jobs that are moved at once.
MOST_MOVED = 100


class JobPages(admin.ModelAdmin):  # type: ignore[type-arg]  # it takes no argument at run time
    """A part of a ModelAdmin: its pages."""

    def get_urls(self) -> list[URLPattern]:
        """The admin's addresses, and those of the verbs and of the form."""
        site = self.admin_site
        own = [
            path("reschedule/", site.admin_view(self.reschedule_view), name="tasksapp_job_reschedule"),
            path("<uuid:job_id>/edit/", site.admin_view(self.edit_view), name="tasksapp_job_edit"),
            *(
                path(
                    f"<uuid:job_id>/{name}/",
                    site.admin_view(partial(self.verb_view, button=button)),
                    name=f"tasksapp_job_{name}",
                )
                for name, button in BUTTONS.items()
            ),
        ]
        return own + super().get_urls()

    # ------------------------------------------------------------ looking

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list; a posted action is applied to the chosen jobs, and leads back to it."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            return self._act(request) or HttpResponseRedirect(request.get_full_path())
        context = list_context(request, site=self.admin_site.name)
        page = own_page(
            request,
            site=self.admin_site,
            template="admin/tasksapp/job/change_list.html",
            title=_("Jobs"),
            context={**context, **self._frame(), **(extra_context or {})},
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
            return HttpResponseRedirect(self._address("changelist"))
        return own_page(
            request,
            site=self.admin_site,
            template="admin/tasksapp/job/change_form.html",
            title=job.biz_id or str(job.id),
            crumbs=[self._crumb()],
            context={**page_context(request, job, site=self.admin_site.name), **self._frame(), **(extra_context or {})},
        )

    # ------------------------------------------------------------ acting

    def verb_view(self, request: HttpRequest, job_id: UUID, button: Button) -> HttpResponse:
        """Presses a button of a job's page, and leads back to it; asks first where nothing undoes the verb.

        Raises PermissionDenied without the permission for the verb, Http404 where there is no such job.
        """
        self._require(request, button.verb.deed)
        if request.method == "POST":
            press_button(request, button, [job_id])
        elif button.verb in ASK_FIRST:
            return self._ask(request, self._job_or_404(job_id), button.verb)
        return HttpResponseRedirect(self._address("change", job_id))

    def reschedule_view(self, request: HttpRequest) -> HttpResponse:
        """Reschedules jobs to the time that was given, or asks for it.

        Raises Http404 where an id is none, PermissionDenied without the permission to move jobs.
        """
        self._require(request, Verb.RESCHEDULE.deed)
        given = request.POST.getlist(ACTION_CHECKBOX_NAME) or request.GET.getlist("id")
        try:
            ids = [UUID(found) for found in given]
        except ValueError:
            raise Http404("One of these is not a job id.") from None
        back = self._address("change", *ids) if len(ids) == 1 else self._address("changelist")
        if not 0 < len(ids) <= MOST_MOVED:
            messages.error(request, _("Nothing was changed: choose 1 to %(most)d jobs.") % {"most": MOST_MOVED})
            return HttpResponseRedirect(back)
        if request.method == "POST":
            form = RescheduleForm(request.POST)
            if form.is_valid():
                reschedule_jobs(request, ids, due_at=form.cleaned_data["due_at"])
                return HttpResponseRedirect(back)
            return self._ask_for_time(request, ids, back=back, form=form)
        return self._ask_for_time(request, ids, back=back)

    def edit_view(self, request: HttpRequest, job_id: UUID) -> HttpResponse:
        """The form of a job that waits; stores it, where it is valid and the job has not changed meanwhile.

        Raises PermissionDenied without the permission to edit jobs, Http404 where there is no such job.
        """
        self._require(request, "edit")
        job = self._job_or_404(job_id)
        back = self._address("change", job.id)
        sees = may_see_bodies(request)
        if job.status != Status.PENDING:
            refused = _("This job can no longer be edited: it is %(status)s.") % {"status": job.get_status_display()}
            messages.error(request, refused)
            return HttpResponseRedirect(back)
        form = JobForm.of(job, sees_bodies=sees)
        if request.method == "POST":
            form = JobForm(job, request.POST, sees_bodies=sees)
            if form.is_valid() and self._store(request, job, form):
                return HttpResponseRedirect(back)
        return own_page(
            request,
            site=self.admin_site,
            template="admin/tasksapp/job/edit.html",
            title=_("Edit %(job)s") % {"job": job.biz_id or job.id},
            crumbs=[self._crumb(), Crumb(job.biz_id or str(job.id), back)],
            context={
                "form": form, "job": job, "back": back, "sees_bodies": sees, "media": self.media + form.media,
                "zone": timezone.get_current_timezone_name(), "opts": self.opts,
            },
        )  # fmt: skip

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
        verb = next((verb for verb in Verb if verb.deed == name), None)
        if verb is None:
            raise BadRequest("There is no such action.")
        if not ids:
            messages.warning(request, _("Nothing was changed: choose jobs first."))
            return None
        if verb is not Verb.RESCHEDULE:
            return confirm_or_apply(request, verb, ids)
        self._require(request, verb.deed)
        if len(ids) > MOST_MOVED:
            messages.error(request, _("Nothing was changed: choose 1 to %(most)d jobs.") % {"most": MOST_MOVED})
            return None
        return self._ask_for_time(request, ids, back=request.get_full_path())

    # ------------------------------------------------------------ asking

    def _ask(self, request: HttpRequest, job: Job, verb: Verb) -> HttpResponse:
        question, meaning, button = ASK_FIRST[verb]
        values = {"count": 1, "jobs": "1"}
        allowed = job.status == verb.source
        context = {
            "meaning": meaning,
            "button": button % values,
            "count": int(allowed),
            "left": int(not allowed),
            "status": verb.source.label,
            "by_biz_type": [(job.biz_type.label, 1)] if allowed else [],
            "ids": [job.id],
            "ids_name": ACTION_CHECKBOX_NAME,
            "action": verb.deed,
            "confirmed": CONFIRMED,
            "longest_reason": LONGEST_REASON,
            "back": self._address("change", job.id),
            "opts": self.opts,
        }
        crumbs = [self._crumb(), Crumb(job.biz_id or str(job.id), self._address("change", job.id))]
        return own_page(
            request,
            site=self.admin_site,
            template="tasksapp/admin/confirm.html",
            title=str(question % values),
            crumbs=crumbs,
            context=context,
        )

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
            "zone": timezone.get_current_timezone_name(),
            "opts": self.opts,
            "media": self.media + RescheduleForm().media,
        }
        return own_page(
            request,
            site=self.admin_site,
            template="tasksapp/admin/reschedule.html",
            title=title,
            crumbs=[self._crumb()],
            context=context,
        )

    # ------------------------------------------------------------ pieces

    def _frame(self) -> dict[str, Any]:
        return {"opts": self.opts, "media": self.media}

    def _crumb(self) -> Crumb:
        return Crumb(_("Jobs"), self._address("changelist"))

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

    def _address(self, page: str, *args: Any) -> str:
        """The address of a page on this admin site; there may be others."""
        return reverse(f"admin:tasksapp_job_{page}", args=args, current_app=self.admin_site.name)

    def _require(self, request: HttpRequest, deed: str) -> None:
        if not self.has_view_or_change_permission(request) or not may(request.user, deed):
            raise PermissionDenied(_("You may not do this to jobs: your account has no permission for it."))


@admin.register(Job)
class JobAdmin(OnlyRead, ShowsDelivery, ResolvePages, JobPages, AuditHistory):
    """Jobs with their status, times and attempts. Callers create them, verbs change them, retention deletes them."""

    def audit_of(self, row: Any) -> Q:
        """What was done to the job."""
        return Q(job_id=row.pk)
