"""The page of one job: how it stands, what may be done to it, its timeline, its body, its row, and its siblings."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from tasksapp.access.permissions import may
from tasksapp.admin.frame.fragments import address, badge, jobs_address, local_time
from tasksapp.admin.frame.masking import body_card, masked_body, may_see_bodies
from tasksapp.admin.frame.own_request import own_request_facts
from tasksapp.admin.jobs.columns import shown_error
from tasksapp.admin.jobs.sentence import job_sentence
from tasksapp.admin.jobs.timeline import read_timeline
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.follow_ups import FOLLOW_UPS
from tasksapp.biz_types.holds import holds, key_hold
from tasksapp.jobs.made_again import lacks_follow_up
from tasksapp.jobs.masking import answer_as_shown
from tasksapp.jobs.requests import fields_on
from tasksapp.jobs.timer_look import timer_state
from tasksapp.jobs.validation import Face
from tasksapp.jobs.verb_words import FOR_GOOD, VERB_WORDS
from tasksapp.jobs.verbs import Verb
from tasksapp.models import DEFAULT_TENANT, LIVE, BizType, Job, NewJob, Series, Status, Tombstone, error_class
from tasksapp.stats.counts import bounded_count

#: Fields that callers give which are no facts of their own: the head, the time, the body and the attempts show them.
SHOWN_ELSEWHERE = frozenset({"biz_type", "biz_id", "due_at", "body", "content_type", "request", "max_attempts"})
#: Columns that the page shows elsewhere, or that mean something to workers only.
_NOT_RAW = {"body", "raw", "request", "biz_type", "lease_token"}
#: In the order of their buttons.
VERBS = (Verb.RUN_NOW, Verb.RESCHEDULE, Verb.CANCEL, Verb.REDRIVE, Verb.DROP)
#: Other jobs that a page names.
MOST_NAMED = 5


class JobButton(NamedTuple):
    """A verb of the page: what it is called, where it leads, and whether that asks first."""

    label: str
    url: str
    asks: bool
    is_final: bool


def page_context(request: HttpRequest, job: Job, *, site: str) -> dict[str, Any]:
    """What the page shows, by eight queries at most however many attempts there are."""
    now = timezone.now()
    sees = may_see_bodies(request)
    is_readable = not job.blank_unreadable()
    waits = job.status == Status.PENDING
    error = shown_error(job.last_error, sees_bodies=sees, error_class=job.error_class)
    held = (holds([job.biz_type], now=now).get(job.biz_type.queue, "") or key_hold(job, now=now)) if waits else ""
    timer = timer_state(job) if waits and job.next_run_at > now else None
    zone = timezone.get_current_timezone()
    sentence = job_sentence(job, now=now, held=held, timer=timer, error=error, zone=zone)
    timeline = read_timeline(request, job, before=_before(request))
    siblings = siblings_of(job, site=site)
    resolved = tombstone_of(job)
    answer = resolved.readable_answer if resolved else "null"
    biz_type_url = ""
    if request.user.has_perm("tasksapp.view_biztype") or request.user.has_perm("tasksapp.change_biztype"):
        biz_type_url = address("tasksapp_biztype_change", job.biz_type_id, site=site)
    return {
        "job": job,
        "status": badge(job.get_status_display(), job.status),
        "sentence": sentence,
        "biz_type_url": biz_type_url,
        "buttons": _buttons(request, job, site=site),
        "timeline": timeline,
        "is_older_page": _before(request) is not None,
        "body": body_card(request, job),
        "is_masked": not sees,
        "is_readable": is_readable,
        "own": own_request_facts(job.request, sees=sees),
        "is_task": job.biz_type.target == BizType.Target.CELERY,
        "last_error": error,
        "attempts": _attempts(job),
        "siblings": siblings.newest,
        "others": siblings.others,
        "resolved": resolved,
        "answer": masked_body(request, _shown_answer(job, answer, is_readable=is_readable)) if answer != "null" else "",
        "answer_is_late": job.status in (Status.RUNNING, Status.SUCCEEDED, Status.DEAD, Status.DROPPED),
        "lift_url": address("tasksapp_job_lift", job.id, site=site)
        if resolved and not _took_answer(job, resolved) and may(request.user, "redrive")
        else "",
        "siblings_url": jobs_address(site=site, tab="all", biz_type=job.biz_type.label, q=job.biz_id),
        "facts": facts_of(job, site=site),
        "series": series_of(job, site=site),
        "operation_url": address("tasksapp_operation_change", job.operation_id, site=site) if job.operation_id else "",
        "raw": _raw(job),
        "history_url": address("tasksapp_job_history", job.id, site=site),
    }


class OfSeries(NamedTuple):
    """The series that a job is one of."""

    name: str
    url: str
    occurrence: SafeString | str


def series_of(job: Job, *, site: str) -> OfSeries | None:
    """The series that the job is one of; its address is '' where it was deleted. None: the job is of none."""
    if job.series_id is None:
        return None
    name = Series.objects.filter(id=job.series_id).values_list("name", flat=True).first()
    when = local_time(job.occurrence_at) if job.occurrence_at else _("by hand")
    if name is None:
        return OfSeries(_("a series that was deleted"), "", when)
    return OfSeries(name, address("tasksapp_series_change", job.series_id, site=site), when)


class Fact(NamedTuple):
    """A field that its caller gave; ``url``: the address that its value leads to, '' for none."""

    name: str
    label: str
    value: Any
    url: str


def facts_of(job: Job, *, site: str) -> list[Fact]:
    """Those that the job has and that the page shows nowhere else."""
    found = []
    columns: Any = Job._meta
    for name in NewJob._fields:
        value = getattr(job, name)
        if name in SHOWN_ELSEWHERE or name not in fields_on(Face.ANSWER) or value in (None, ""):
            continue
        if isinstance(value, datetime):
            value = f"{timezone.localtime(value):%Y-%m-%d %H:%M:%S}"
        keyed = {"tab": "pending", "biz_type": job.biz_type.label, "flow_key": job.flow_key}
        url = jobs_address(site=site, **keyed) if name == "flow_key" else ""
        found.append(Fact(name, capfirst(str(columns.get_field(name).verbose_name)), value, url))
    if job.is_sealed:
        found.append(Fact("encrypted", _("At rest"), _("encrypted"), ""))
    return found


def _attempts(job: Job) -> str:
    values = {
        "used": job.attempts_used,
        "most": job.max_attempts or job.biz_type.max_attempts,
        "all": job.attempts,
        "redrives": job.redrives,
    }
    if job.redrives:
        return _("%(used)d of %(most)d used since its last redrive; %(all)d in all, %(redrives)d redrives") % values
    return _("%(used)d of %(most)d used") % values


def _shown_answer(job: Job, answer: str, *, is_readable: bool) -> str:
    """The answer with the masks of its biz type, and of those whose jobs may follow."""
    codes = {code for name in FOLLOW_UPS if (code := getattr(job.biz_type, name))}
    tenant_id = job.biz_type.tenant_id or DEFAULT_TENANT
    following = biz_type_cache.find(codes, tenant_id=tenant_id, using=job._state.db or "default")
    return answer_as_shown(answer, job=job, is_readable=is_readable, following=following.values())


def _before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


def _buttons(request: HttpRequest, job: Job, *, site: str) -> list[JobButton]:
    def url(page: str) -> str:
        return reverse(f"admin:tasksapp_job_{page}", args=[job.id], current_app=site)

    found: list[JobButton] = []
    for verb in VERBS:
        if job.status != verb.source or not may(request.user, verb.word):
            continue
        label, is_final = VERB_WORDS[verb.word].label, verb.word in FOR_GOOD
        if verb is Verb.RESCHEDULE:
            moved = reverse("admin:tasksapp_job_reschedule", current_app=site)
            found.append(JobButton(f"{label} …", f"{moved}?id={job.id}", True, False))
        else:
            found.append(JobButton(f"{label} …" if is_final else str(label), url(verb.word), is_final, is_final))
    if job.status == Status.PENDING and may(request.user, "edit"):
        place = next((n for n, button in enumerate(found) if button.is_final), len(found))
        found.insert(place, JobButton(_("Edit …"), url("edit"), True, False))
    if job.status == Status.SUCCEEDED and may(request.user, "run_now"):
        found.append(JobButton(_("Run again"), url("run_again"), False, False))
    if job.finished_at and lacks_follow_up(job) and may(request.user, "run_now"):
        found.append(JobButton(_("Make what follows again"), url("follow_up"), False, False))
    waits = job.status == Status.PENDING and job.biz_id and job.biz_type.on_resolved
    if waits and may(request.user, "cancel"):
        found.append(JobButton(_("Make an answer link …"), url("link"), True, False))
    if job.biz_id and job.status in LIVE and may(request.user, "cancel"):
        found.append(JobButton(_("Resolve biz id …"), url("resolve"), True, True))
    return found


def _raw(job: Job) -> list[tuple[str, Any]]:
    """Every column by name, as it is stored."""
    found: list[tuple[str, Any]] = []
    for column in Job._meta.concrete_fields:
        if column.name in _NOT_RAW or column.name == "last_error":
            continue
        value = getattr(job, column.attname)
        if hasattr(value, "isoformat"):
            value = value.isoformat()
        found.append((capfirst(str(column.verbose_name)), "" if value is None else value))
    return found


class Sibling(NamedTuple):
    """Another job of the same biz id; ``biz_type`` is '' where that is the same too."""

    url: str
    status: SafeString
    due: SafeString
    biz_type: str


class Siblings(NamedTuple):
    """The newest of the other jobs, and how many others there are."""

    newest: list[Sibling]
    others: int


def siblings_of(job: Job, *, site: str) -> Siblings:
    """The other jobs of the job's biz id."""
    if not job.biz_id:
        return Siblings([], 0)
    rows = same_key(job).exclude(id=job.id)
    columns = rows.select_related("biz_type__tenant").only(
        "id", "status", "due_at", "biz_type__code", "biz_type__tenant"
    )
    newest = list(columns.order_by("-id")[:MOST_NAMED])
    count = len(newest) if len(newest) < MOST_NAMED else bounded_count(rows)
    shown = [
        Sibling(
            reverse("admin:tasksapp_job_change", args=[each.id], current_app=site),
            badge(each.get_status_display(), each.status),
            local_time(each.due_at),
            "" if each.biz_type_id == job.biz_type_id else each.biz_type.label,
        )
        for each in newest
    ]
    return Siblings(shown, count)


def same_key(job: Job) -> QuerySet[Job]:
    """All jobs of the job's biz id, in all biz types of its tenant."""
    # A list, not a sub-select: each number leads to a place of the index (biz type, biz id, id).
    numbers = list(BizType.objects.filter(tenant=job.biz_type.tenant).values_list("id", flat=True))
    return Job.objects.filter(biz_type_id__in=numbers, biz_id=job.biz_id)


def live_biz_types(job: Job) -> list[BizType]:
    """The job's biz type, and the others of its tenant that have live jobs of its biz id."""
    others = set(same_key(job).filter(status__in=LIVE).values_list("biz_type_id", flat=True)) - {job.biz_type_id}
    return [job.biz_type, *BizType.objects.select_related("tenant").filter(id__in=others).order_by("code")]


def _took_answer(job: Job, tombstone: Tombstone) -> bool:
    """Whether something has followed from the job's answer, so that nobody lifts that any more."""
    return job.id == tombstone.answered_job and job.error_class == error_class.RESOLVED


def tombstone_of(job: Job) -> Tombstone | None:
    """What says that the job's biz id is resolved; None where it is not, or only for jobs from before."""
    if not job.biz_id or not job.biz_type.has_tombstones:
        return None
    found = Tombstone.objects.filter(biz_type_id=job.biz_type_id, biz_id=job.biz_id).first()
    return found if found is not None and found.holds(job) else None
