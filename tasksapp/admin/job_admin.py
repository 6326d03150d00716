"""Jobs in the admin: people find them, read them and apply verbs to them."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from tasksapp import jobs
from tasksapp.admin.attempt_inline import AttemptInline
from tasksapp.admin.audit_history import AuditHistory
from tasksapp.admin.delivery_banner import ShowsDelivery
from tasksapp.admin.fragments import badge, indented_json, local_time
from tasksapp.admin.job_actions import (
    BUTTONS,
    Button,
    RescheduleForm,
    confirm_or_apply,
    press_button,
    reschedule_jobs,
)
from tasksapp.admin.lookups import OnlyNamedLookups
from tasksapp.admin.paginator import BoundedPaginator
from tasksapp.admin.possible_rows import PossibleRows
from tasksapp.models import Job, Status

#: The form field with the ids of the jobs to reschedule.
IDS = "_selected_action"
#: Jobs that one action changes.
MOST_CHOSEN = 100_000


class JobChangeList(ChangeList):
    """A list of jobs that does not read their bodies."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Job]:
        """The jobs without their bodies, which the list does not show."""
        rows: QuerySet[Job] = super().get_queryset(request, exclude_parameters)
        return rows.defer("body")


@admin.register(Job)
class JobAdmin(AuditHistory, ShowsDelivery, OnlyNamedLookups, PossibleRows):
    """Jobs with their status, times and attempts. Every field is read-only: verbs change jobs."""

    list_display = ["short_id", "biz_type", "biz_id", "state", "when", "attempts", "last_error"]
    list_display_links = ["short_id"]
    list_filter = ["status", "biz_type", ("due_at", admin.DateFieldListFilter)]
    named_lookups = frozenset({"status__exact", "biz_type__id__exact", "due_at__gte", "due_at__lt", "due_at__isnull"})
    list_select_related = ["biz_type"]
    list_per_page = 50
    list_max_show_all = 0
    paginator = BoundedPaginator
    show_full_result_count = False
    search_fields = ["id", "biz_id"]
    search_help_text = "A job's id, or a whole biz id"
    ordering = ["-id"]
    inlines = [AttemptInline]
    actions = ["run_now", "cancel", "reschedule", "redrive", "drop"]
    change_form_template = "tasksapp/admin/job.html"
    fieldsets = [
        (None, {"fields": ["id", "biz_type", "biz_id", "debounce_key", "state", "due", "next_run", "priority"]}),
        ("Body", {"fields": ["shown_body"]}),
        (
            "How it goes",
            {"fields": [("attempts", "budget"), "system_errors", "last_error", "worker", "lease_until", "finished"]},
        ),
        ("Record", {"fields": [("created_at", "updated_at"), "version", "traceparent"], "classes": ["collapse"]}),
    ]

    class Media:
        css = {"all": ["tasksapp/admin.css"]}

    # ------------------------------------------------------------ permissions

    def has_add_permission(self, request: HttpRequest) -> bool:
        """False: callers create jobs."""
        del request
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Job | None = None) -> bool:
        """False: retention deletes jobs; a person cancels or drops them."""
        del request, obj
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Job | None = None) -> list[str]:
        """All fields: only verbs change a job."""
        del request, obj
        fields: list[str] = []
        for _, options in self.fieldsets:
            for entry in options["fields"]:
                fields += [entry] if isinstance(entry, str) else entry
        return fields

    def audit_of(self, row: Job) -> Q:
        """Entries about the job."""
        return Q(job_id=row.pk)

    # ------------------------------------------------------------ finding

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        """The list without bodies."""
        del request, kwargs
        return JobChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Job], search_term: str
    ) -> tuple[QuerySet[Job], bool]:
        """The jobs with that whole id or biz id: a search for a part of one would read the whole table."""
        del request
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            return queryset.filter(id=UUID(term)), False
        except ValueError:
            return queryset.filter(biz_id=term), False

    # ------------------------------------------------------------ columns

    @admin.display(description="job", ordering="id")
    def short_id(self, job: Job) -> str:
        """The end of the id; ids of jobs created at the same time begin alike."""
        return str(job.id)[-12:]

    @admin.display(description="status", ordering="status")
    def state(self, job: Job) -> SafeString:
        """The status as a badge."""
        return badge(job.get_status_display(), job.status)

    @admin.display(description="due", ordering="due_at")
    def due(self, job: Job) -> SafeString:
        """What the caller asked for."""
        return local_time(job.due_at)

    @admin.display(description="due", ordering="due_at")
    def when(self, job: Job) -> SafeString:
        """The due time, and below it the next run where that is another time."""
        due = local_time(job.due_at)
        if job.status != Status.PENDING or job.next_run_at == job.due_at:
            return due
        return format_html('{}<br><span class="delayhub-quiet">next run</span> {}', due, local_time(job.next_run_at))

    @admin.display(description="next run", ordering="next_run_at")
    def next_run(self, job: Job) -> SafeString:
        """When a pending job runs next."""
        return local_time(job.next_run_at if job.status == Status.PENDING else None)

    @admin.display(description="finished")
    def finished(self, job: Job) -> SafeString:
        """When the job ended."""
        return local_time(job.finished_at)

    @admin.display(description="body")
    def shown_body(self, job: Job) -> SafeString:
        """The body, indented."""
        return indented_json(job.body)

    @admin.display(description="of")
    def budget(self, job: Job) -> str:
        """How many attempts are used, of how many."""
        most = job.max_attempts or job.biz_type.max_attempts
        return f"{job.attempts_used} of {most} used" + (" since its redrive" if job.attempt_base else "")

    # ------------------------------------------------------------ acting

    @admin.action(description="Run now", permissions=["change"])
    def run_now(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        """Makes pending jobs due at once."""
        return confirm_or_apply(request, jobs.Verb.RUN_NOW, chosen(queryset))

    @admin.action(description="Cancel", permissions=["change"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        """Cancels pending jobs."""
        return confirm_or_apply(request, jobs.Verb.CANCEL, chosen(queryset))

    @admin.action(description="Redrive: try dead jobs again", permissions=["change"])
    def redrive(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        """Tries dead jobs again."""
        return confirm_or_apply(request, jobs.Verb.REDRIVE, chosen(queryset))

    @admin.action(description="Drop dead jobs for good", permissions=["change"])
    def drop(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse | None:
        """Drops dead jobs."""
        return confirm_or_apply(request, jobs.Verb.DROP, chosen(queryset))

    @admin.action(description="Reschedule …", permissions=["change"])
    def reschedule(self, request: HttpRequest, queryset: QuerySet[Job]) -> HttpResponse:
        """The page that asks for the new time of pending jobs."""
        return self._ask_for_time(request, chosen(queryset), back=request.get_full_path())

    def get_urls(self) -> list[URLPattern]:
        """The admin's addresses, and those of the buttons and of the page that asks for a time."""
        own = [
            path("reschedule/", self.admin_site.admin_view(self.reschedule_view), name="tasksapp_job_reschedule"),
            *(
                path(
                    f"<uuid:job_id>/{name}/",
                    self.admin_site.admin_view(partial(self.verb_view, button=button)),
                    name=f"tasksapp_job_{name}",
                )
                for name, button in BUTTONS.items()
            ),
        ]
        return own + super().get_urls()

    def verb_view(self, request: HttpRequest, job_id: UUID, button: Button) -> HttpResponse:
        """Presses a button of a job's page, and leads back to it.

        Raises Http404 without the permission to change jobs.
        """
        self._require(request)
        if request.method == "POST":
            press_button(request, button, [job_id])
        return HttpResponseRedirect(self._address("change", job_id))

    def reschedule_view(self, request: HttpRequest) -> HttpResponse:
        """Reschedules jobs to the time that was given, or asks for it.

        Raises Http404 where an id is none, or without the permission to change jobs.
        """
        self._require(request)
        try:
            ids = [UUID(found) for found in request.POST.getlist(IDS) or request.GET.getlist("id")]
        except ValueError:
            raise Http404("One of these is not a job id.") from None
        back = self._address("changelist")
        if len(ids) == 1:
            back = self._address("change", *ids)
        if request.method == "POST":
            form = RescheduleForm(request.POST)
            if form.is_valid():
                reschedule_jobs(request, ids, due_at=form.cleaned_data["due_at"])
                return HttpResponseRedirect(back)
            return self._ask_for_time(request, ids, back=back, form=form)
        return self._ask_for_time(request, ids, back=back)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """A job's page with the buttons that its status allows."""
        job: Job | None = context.get("original")
        if job is not None and self.has_change_permission(request, job):
            context["verbs"] = [
                (button.label, self._address(name, job.id))
                for name, button in BUTTONS.items()
                if job.status == button.verb.source
            ]
            if job.status == jobs.Verb.RESCHEDULE.source:
                context["reschedule_url"] = f"{self._address('reschedule')}?id={job.id}"
        context |= {"show_save": False, "show_save_and_continue": False, "show_close": True}
        context["zone"] = timezone.get_current_timezone_name()
        return super().render_change_form(request, context, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, with the time zone of its times in the title."""
        zone = timezone.get_current_timezone_name()
        return super().changelist_view(request, {"title": f"Jobs (times in {zone})", **(extra_context or {})})

    def _ask_for_time(
        self, request: HttpRequest, ids: list[UUID], *, back: str, form: RescheduleForm | None = None
    ) -> TemplateResponse:
        request.current_app = self.admin_site.name
        context = {
            **self.admin_site.each_context(request),
            "title": f"Reschedule {len(ids)} job{'' if len(ids) == 1 else 's'}",
            "form": form or RescheduleForm(initial={"due_at": timezone.localtime()}),
            "ids": ids,
            "ids_name": IDS,
            "back": back,
            "zone": timezone.get_current_timezone_name(),
            "opts": self.opts,
            "media": self.media + RescheduleForm().media,
        }
        return TemplateResponse(request, "tasksapp/admin/reschedule.html", context)

    def _address(self, page: str, *args: Any) -> str:
        """The address of a page on this admin site; there may be others."""
        return reverse(f"admin:tasksapp_job_{page}", args=args, current_app=self.admin_site.name)

    def _require(self, request: HttpRequest) -> None:
        if not self.has_change_permission(request):
            raise Http404("You may not change jobs.")


def chosen(queryset: QuerySet[Job]) -> list[UUID]:
    """The ids of the chosen jobs, ``MOST_CHOSEN`` at most."""
    return list(queryset.order_by().values_list("id", flat=True)[:MOST_CHOSEN])
