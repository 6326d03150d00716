"""The page that lists jobs: tabs, a search, filters, what may be done to the jobs, and their export."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.core.exceptions import BadRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from tasksapp.access.permissions import EXPORT, may
from tasksapp.admin.frame.filter_words import filter_words
from tasksapp.admin.frame.fragments import address, clock_time, number
from tasksapp.admin.frame.masking import may_see_bodies
from tasksapp.admin.frame.requests import actor_of
from tasksapp.admin.jobs.columns import COLUMNS, Showing, rows_of
from tasksapp.admin.jobs.search import BadSearch, JobSearch, page_name
from tasksapp.admin.jobs.tabs import ENDED, SPANS, TABS
from tasksapp.biz_types.holds import holds
from tasksapp.errors import TooManyExports
from tasksapp.jobs.export import FORMATS, Export, sent
from tasksapp.jobs.listing import BodyLook, JobList, Page, TookTooLong
from tasksapp.jobs.verb_words import FOR_GOOD, VERB_WORDS
from tasksapp.jobs.verbs import Verb
from tasksapp.models import BizType, DeadCount, Job
from tasksapp.models.columns import sealed_texts
from tasksapp.models.error_class import error_class_label
from tasksapp.stats.counts import FARTHEST, Counts, bounded_count, read_counts


class TabLink(NamedTuple):
    """A tab and how many jobs are behind it; '' where that is not known without reading them all."""

    label: str
    url: str
    jobs: str
    is_here: bool


class VerbButton(NamedTuple):
    """A verb: its name, its label, and the page that plans it for all that match; '' where there is none."""

    name: str
    label: str
    is_final: bool
    plan_url: str


class _Found(NamedTuple):
    jobs: list[Job]
    next_url: str = ""
    note: str = ""
    problem: str = ""


def list_context(request: HttpRequest, *, site: str) -> dict[str, Any]:
    """What the page shows. ``problem`` says why it has no jobs, ``is_bad`` whether the address is the cause."""
    now = timezone.now()
    biz_types = biz_types_of_list()
    problem = ""
    try:
        search = JobSearch.parse(request.GET)
        check_search(request, search, biz_types)
    except BadSearch as error:
        search, problem = JobSearch(), str(error)
    listed = search.job_list(biz_types, now=now)
    found = _Found([], problem=problem) if problem else _find(search, listed)
    chosen = next((each.pk for each in biz_types if each.label == search.job_filter.biz_type), None)
    counts = read_counts(biz_type_id=chosen)
    here = None if found.problem else _count_here(search, listed, found)
    kinds = {job.biz_type.id: job.biz_type for job in found.jobs}
    showing = Showing(
        now=now,
        holds=holds(kinds.values(), now=now) if "waits" in search.tab.columns else {},
        sees_bodies=may_see_bodies(request),
        site=site,
    )
    buttons = [] if problem else _buttons(request, search, listed, site=site)
    return {
        "search": search,
        "problem": found.problem,
        "is_bad": bool(problem),
        "note": found.note,
        "tabs": _tabs(search, counts, here=here),
        "as_of": clock_time(counts.as_of) if counts.as_of and counts.bound is None else "",
        "columns": [(name, COLUMNS[name].label) for name in search.tab.columns],
        "sorted_by": _sorted_column(search),
        "turn_url": search.address(o=None if search.turned else "turned"),
        "rows": rows_of(found.jobs, search.tab.columns, showing),
        "buttons": buttons,
        "export_url": "" if problem or search.body else address("tasksapp_job_export", site=site) + search.address(),
        "matching": here,
        "next_url": found.next_url,
        "first_url": search.address() if search.after else "",
        "is_narrow": search.is_narrow or bool(search.job_filter.biz_type),
        "clear_url": f"?tab={search.tab.name}",
        "biz_types": [(each.label, each.label == search.job_filter.biz_type) for each in biz_types],
        "error_classes": _error_classes(search),
        "spans": [(name, span.label, name == search.span) for name, span in SPANS.get(search.tab.span, {}).items()],
        "times": _times(search),
        "chips": _chips(search),
    }


#: What neither the list nor the reasons for waiting need of a biz type: long texts and secrets.
_UNREAD = ("description", "headers", "url_hosts", *sealed_texts(BizType).values())


def biz_types_of_list() -> list[BizType]:
    """All biz types, as far as lists of jobs need them."""
    return list(BizType.objects.select_related("tenant").defer(*_UNREAD))


def check_search(request: HttpRequest, search: JobSearch, biz_types: list[BizType]) -> None:
    """Raises BadSearch where there is no such biz type, or the person may not search so."""
    code = search.job_filter.biz_type
    named = next((each for each in biz_types if each.label == code), None)
    if code and named is None:
        raise BadSearch(_("There is no biz type “%(code)s”.") % {"code": code})
    if not search.body:
        return
    if named is not None and named.masked_fields:
        raise BadSearch(_("The bodies of %(code)s cannot be searched: it has masked fields.") % {"code": code})
    if not may_see_bodies(request):
        raise BadSearch(_("You may not search in bodies: your account may not see them."))
    if named is not None and named.encrypted:
        raise BadSearch(_("The bodies of %(code)s are encrypted: nothing can be found in them.") % {"code": code})


def _find(search: JobSearch, listed: JobList) -> _Found:
    try:
        if search.body:
            return _found_in_bodies(listed, listed.look_for(search.body))
        page: Page = listed.page(after=search.after)
    except TookTooLong:
        narrow = _("This took longer than 2 seconds, so it was ended. Choose a biz type, a tab or a range of time.")
        return _Found([], problem=narrow)
    return _Found(page.jobs, search.address(page=page_name(page.next)) if page.next else "")


def _found_in_bodies(listed: JobList, look: BodyLook) -> _Found:
    jobs = listed.read(look.ids)
    looked_at = number(look.looked_at)
    closed = ""
    if look.encrypted:
        text = _("%(count)s of these cannot be searched: they are encrypted.") % {"count": number(look.encrypted)}
        closed = f" {text}"
    if look.is_whole:
        return _Found(jobs, note=_("All %(looked_at)s bodies were looked at.") % {"looked_at": looked_at} + closed)
    total = listed.count()
    of = number(total, bound=FARTHEST) if total is not None and total > look.looked_at else _("more")
    note = _(
        "Looked at %(looked_at)s bodies of %(total)s, the first of the list. Choose a range of time to look further."
    )
    return _Found(jobs, note=note % {"looked_at": looked_at, "total": of} + closed)


def _count_here(search: JobSearch, listed: JobList, found: _Found) -> str | None:
    """How many jobs match, where the counts of the loader do not say it."""
    if search.body:
        return None
    if not search.after and not found.next_url:
        return number(len(found.jobs))
    if search.is_narrow or search.tab.name in {"off", "done"}:
        count = listed.count()
        return None if count is None else number(count, bound=FARTHEST)
    return None


def _tabs(search: JobSearch, counts: Counts, *, here: str | None) -> list[TabLink]:
    found = counts.total
    shown: dict[str, str] = {}
    if not search.is_narrow:
        numbers = {"pending": found.pending, "due": found.due_now, "dead": found.dead}
        shown = {name: number(count, bound=counts.bound) for name, count in numbers.items()}
        shown["running"] = number(found.running)
        if not search.job_filter.biz_type:
            shown["off"] = number(bounded_count(Job.objects.filter(status__in=ENDED)), bound=FARTHEST)
    if here is not None and (search.tab.name not in shown or search.is_narrow):
        shown[search.tab.name] = here
    return [
        TabLink(str(tab.label), search.tab_address(tab), shown.get(tab.name, ""), tab is search.tab)
        for tab in TABS.values()
    ]


def _sorted_column(search: JobSearch) -> str:
    """The column whose heading turns the order round; '' where no index has it the other way."""
    if not search.tab.is_sortable:
        return ""
    return next((name for name in ("next_run", "died", "ended") if name in search.tab.columns), "")


def _buttons(request: HttpRequest, search: JobSearch, listed: JobList, *, site: str) -> list[VerbButton]:
    plan = address("tasksapp_operation_plan", site=site) if not search.body else ""
    query = JobSearch(job_filter=listed.job_filter).address(tab=None)[1:]
    return [
        VerbButton(verb.word, _label(verb), verb.word in FOR_GOOD, f"{plan}?verb={verb.word}&{query}" if plan else "")
        for verb in search.tab.verbs
        if may(request.user, verb.word)
    ]


def _label(verb: Verb) -> str:
    """The label of a button, which says that a page follows where that asks for more."""
    label = VERB_WORDS[verb.word].label
    return f"{label} …" if verb is Verb.RESCHEDULE else str(label)


def _error_classes(search: JobSearch) -> list[tuple[str, str, bool]]:
    """The kinds of errors of dead jobs, as the loader found them, for the filter of that tab."""
    if search.tab.name != "dead":
        return []
    here = search.job_filter.error_class
    known = set(DeadCount.objects.values_list("error_class", flat=True).distinct())
    return [(one, error_class_label(one), one == here) for one in sorted(known | ({here} if here else set()))]


def _times(search: JobSearch) -> list[tuple[str, str, str]]:
    """The two fields of a range: name, label and value, as a browser's field for times has it."""
    if not search.tab.span:
        return []
    shown = []
    for end, label in (("from", _("From")), ("until", _("Until"))):
        name = f"{search.tab.span}_{end}"
        value = getattr(search.job_filter, name)
        text = "" if value is None else timezone.localtime(value).strftime("%Y-%m-%dT%H:%M")
        shown.append((name, label, text))
    return shown


def _chips(search: JobSearch) -> list[tuple[str, str]]:
    """Conditions that have no field of their own, each with the address without it."""
    own = {f"{search.tab.span}_from", f"{search.tab.span}_until", "error_class" if search.tab.name == "dead" else ""}
    found = filter_words(search.job_filter)
    return [(words, search.address(**{name: None})) for name, words in found.items() if name not in own]


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
    actor = actor_of(request)

    def begin() -> Export:
        return Export(search.job_list(biz_types, now=timezone.now()), kind, by=actor, asked=asked)

    try:
        return sent(request, begin, kind=kind, holder=actor.name)
    except TooManyExports:
        raise BadSearch(_("Too many exports are being sent. Try again when one has ended.")) from None
    except TookTooLong:
        raise BadSearch(_("This took too long. Choose a biz type, a tab or a range of time.")) from None
