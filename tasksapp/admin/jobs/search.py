"""JobSearch: what an address of the list of jobs asks for: a tab, a filter, a search, a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from tasksapp.admin.jobs.tabs import SPANS, TABS, Tab
from tasksapp.errors import InvalidJob
from tasksapp.jobs.job_filter import JobFilter
from tasksapp.jobs.listing import JobList, Position
from tasksapp.jobs.validation import utc_moment
from tasksapp.models import BizType, Status

#: What begins a search in bodies.
BODY = "body:"
#: Parameters of the list beside the names of a JobFilter.
OWN = frozenset({"tab", "q", "page", "range", "o", "fragment"})
_FILTERS = tuple(one.name for one in fields(JobFilter))
_TIMES = tuple(name for name in _FILTERS if name.endswith(("_from", "_until")))
#: The tab of each status.
_TAB_OF = {status: tab.name for tab in TABS.values() if tab.name != "due" for status in tab.statuses}
_LONGEST = 1_000


class BadSearch(ValueError):
    """The address asks for what the list cannot show; the message is a sentence for the person."""


@dataclass(frozen=True, kw_only=True)
class JobSearch:
    """What is asked for.

    Args:
        tab: which jobs.
        job_filter: which of them, by what the person filtered; without what the tab and the search say.
        q: the search, as it was written.
        body: the text that is looked for in bodies; '' for none.
        span: the name of a range of time; '' for none.
        turned: whether the tab's order is turned round.
        after: the last job of the page before.
        ids: a job's id that was searched for.
    """

    tab: Tab = field(default_factory=lambda: TABS["pending"])
    job_filter: JobFilter = field(default_factory=JobFilter)
    q: str = ""
    body: str = ""
    span: str = ""
    turned: bool = False
    after: Position | None = None

    @classmethod
    def parse(cls, given: QueryDict) -> JobSearch:
        """What the address asks for. Raises BadSearch."""
        if unknown := sorted(set(given) - OWN - set(_FILTERS)):
            raise BadSearch(_("This list has no filter “%(name)s”.") % {"name": unknown[0][:100]})
        if any("\0" in value or len(value) > _LONGEST for name in given for value in given.getlist(name)):
            raise BadSearch(_("A value in the address is too long, or holds a character that no job can have."))
        q = given.get("q", "").strip()
        try:
            job_filter = JobFilter.parse(_filters(given))
        except InvalidJob as error:
            raise BadSearch(_("This cannot be searched for: %(why)s.") % {"why": error.message}) from error
        tab = _tab(given.get("tab", ""), job_filter, q)
        search = cls(
            tab=tab,
            job_filter=replace(job_filter, status=None),
            q=q,
            body=q.removeprefix(BODY).strip() if q.startswith(BODY) else "",
            span=given.get("range", ""),
            turned=given.get("o", "") == "turned",
        )
        if search.span and search.span not in SPANS.get(tab.span, {}):
            raise BadSearch(_("This tab has no range “%(name)s”.") % {"name": search.span})
        if q.startswith(BODY):
            search._check_body()
        return replace(search, after=_position(given.get("page", ""), by_id=search.order.lstrip("-") == "id"))

    def _check_body(self) -> None:
        bounded = self.tab.statuses and self.tab.order.lstrip("-") != "id"
        if not self.body:
            raise BadSearch(_("Write what to look for behind “body:”."))
        if not self.job_filter.biz_type or not bounded:
            raise BadSearch(
                _("To search in bodies, choose a biz type and one of the tabs Pending, Due now, Running, Dead or Done.")
            )

    @property
    def order(self) -> str:
        """The order of the list: the tab's, or another one that an index has for what is chosen."""
        order = self.tab.order
        narrowed = self.job_filter.biz_type or self.job_filter.ended_from or self.job_filter.ended_until
        if self.tab.name == "off" and narrowed and not self.term.biz_id:
            order = "-finished_at"
        if not (self.turned and self.tab.is_sortable):
            return order
        return order[1:] if order.startswith("-") else f"-{order}"

    @property
    def term(self) -> JobFilter:
        """What the search says, as a filter: an id, a biz id, or the beginning of one."""
        if not self.q or self.body:
            return JobFilter()
        try:
            return JobFilter(ids=(UUID(self.q),))
        except ValueError:
            return JobFilter(biz_id=self.q[:201])

    def whole_filter(self, *, now: datetime) -> JobFilter:
        """All that is asked for but the text in bodies, as operations take it."""
        term = self.term
        found = replace(
            self.job_filter, ids=term.ids or self.job_filter.ids, biz_id=term.biz_id or self.job_filter.biz_id
        )
        if self.span:
            begin, end = SPANS[self.tab.span][self.span].resolve(now)
            if self.tab.span == "next":
                found = replace(found, next_from=begin, next_until=end)
            else:
                found = replace(found, ended_from=begin, ended_until=end)
        if self.tab.name == "due":
            found = replace(found, next_until=min(found.next_until or now, now))
        return replace(found, status=self.tab.statuses[0]) if len(self.tab.statuses) == 1 else found

    def job_list(self, biz_types: Sequence[BizType], *, now: datetime) -> JobList:
        """The jobs."""
        return JobList(
            job_filter=self.whole_filter(now=now), statuses=self.tab.statuses, order=self.order, biz_types=biz_types
        )

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for less than a tab, or a biz type's part of one."""
        return bool(self.q or self.span or replace(self.job_filter, biz_type="") != JobFilter())

    def address(self, **changes: Any) -> str:
        """The query of an address that asks for the same but for these parameters; None leaves one out.

        It begins with the first page, unless ``page`` is given.
        """
        given: dict[str, Any] = {
            "tab": self.tab.name,
            "q": self.q,
            "range": self.span,
            "o": "turned" if self.turned else "",
            **self.job_filter.as_dict(),
            **changes,
        }
        kept = {name: value for name, value in given.items() if value not in (None, "", [])}
        return "?" + urlencode(kept, doseq=True)

    def tab_address(self, tab: Tab) -> str:
        """The address of another tab, with the filters that mean something there."""
        lost = {name: None for name in _TIMES if not tab.span or not name.startswith((tab.span, "due_"))}
        if tab.name not in {"dead", "all"}:
            lost["error_class"] = None
        named = self.q or self.job_filter.biz_id or self.job_filter.ids or self.job_filter.series
        if tab.name == "all" and not named:
            lost["biz_type"] = None
        return self.address(tab=tab.name, range=None, o=None, **lost)


def page_name(position: Position) -> str:
    """A position as addresses have it."""
    return str(position.id) if position.moment is None else f"{position.moment.isoformat()}~{position.id}"


def _filters(given: QueryDict) -> Mapping[str, Any]:
    found: dict[str, Any] = {name: given[name] for name in _FILTERS if name in given and name != "ids"}
    if "ids" in given:
        found["ids"] = given.getlist("ids")
    for name in _TIMES:
        if found.get(name):
            found[name] = _local(found[name])
    return found


def _local(text: str) -> Any:
    """A time of the current zone where the text names no other, as browsers send it."""
    try:
        time = parse_datetime(text)
        return text if time is None else time if timezone.is_aware(time) else timezone.make_aware(time)
    except (ValueError, OverflowError):
        return text


def _tab(name: str, job_filter: JobFilter, q: str) -> Tab:
    if not name and job_filter.status:
        name = _TAB_OF[Status(job_filter.status)]
    if not name:
        of_all = (q and not q.startswith(BODY)) or job_filter.ids or job_filter.operation or job_filter.series
        name = "all" if of_all else "pending"
    tab = TABS.get(name)
    if tab is None:
        raise BadSearch(_("This list has no tab “%(name)s”.") % {"name": name[:100]})
    if job_filter.status and tab.statuses and job_filter.status not in tab.statuses:
        raise BadSearch(_("The tab and the status in the address contradict each other."))
    is_narrow = q or job_filter.biz_id or job_filter.ids or job_filter.series
    if tab.name == "all" and job_filter.biz_type and not is_narrow:
        raise BadSearch(_("The jobs of one biz type are listed by status: choose another tab, or search for a biz id."))
    return tab


def _position(text: str, *, by_id: bool) -> Position | None:
    if not text:
        return None
    moment, _tilde, job_id = text.rpartition("~")
    try:
        time = parse_datetime(moment) if moment else None
        found = Position(utc_moment(time) if time and time.tzinfo else time, UUID(job_id))
    except (ValueError, OverflowError):
        found = None
    if found is None or (found.moment is None) != by_id or (found.moment is not None and found.moment.tzinfo is None):
        raise BadSearch(_("The address names no page of this list."))
    return found
