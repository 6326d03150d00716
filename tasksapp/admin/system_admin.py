"""The page of the system: workers, loader, lanes, servers, settings, versions; the same as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.access.permissions import VIEW_QUEUES, VIEW_SYSTEM
from tasksapp.admin.frame.fragments import DASH, address, badge, duration, local_time, number, quiet, time_away
from tasksapp.admin.frame.own_page import PageEntry, own_page
from tasksapp.queues.system.report import system_report
from tasksapp.queues.system.section import Column, Section, Unit, Value

#: Facts whose truth is neither good nor bad, and options that are as they come.
_QUIET_TRUTHS = {"is_default", "is_this_redis", "checked", "debug"}


#: Columns that share a cell on the page, so that a row fits a screen; the first gives the cell its name.
_SHARED = {
    "workers": (
        ("name", "process", "pool", "version", "is_loader"),
        ("queues",),
        ("running", "tasks"),
        ("open_callbacks",),
        ("last_claim_at",),
        ("started_at",),
        ("seen_at",),
    ),
    "loader": (("worker", "is_this_redis"), ("redis",), ("age_seconds",)),
}


class Cell(NamedTuple):
    """A cell of a table: the name of its column, what it shows, and whether that is a number."""

    label: str
    text: SafeString
    is_number: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownSection:
    """A section as the page shows it: every value as text."""

    section: Section
    facts: list[tuple[str, SafeString]]
    columns: list[Cell]
    rows: list[list[Cell]]

    @classmethod
    def of(cls, section: Section, *, now: datetime) -> ShownSection:
        """The section; times are as of now."""
        cells = _SHARED.get(section.key, tuple((column.key,) for column in section.columns))
        rows = [[_cell(section, row, keys, now=now) for keys in cells] for row in section.rows]
        return cls(
            section=section,
            facts=[
                (fact.label, shown(fact.key, fact.value, fact.unit, now=now))
                for fact in section.facts
                if fact.key != "checked"
            ],
            columns=rows[0] if rows else [],
            rows=rows,
        )


class SystemAdmin(PageEntry):
    """The whole system at a glance, for those who run it."""

    permission = VIEW_SYSTEM

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The page; ``?check=1`` compares timers with rows, ``?format=json`` is for programs."""
        self.require_view(request)
        check, now = request.GET.get("check") == "1", timezone.now()
        report = system_report(check=check)
        if request.GET.get("format") == "json":
            sections = {section.key: section.as_json() for section in report}
            answer = JsonResponse({"as_of": now, **sections}, json_dumps_params={"indent": 2})
            answer["Cache-Control"] = "no-store"
            return answer
        queues = address("tasksapp_celeryqueue_changelist", site=self.admin_site.name)
        return own_page(
            request,
            site=self.admin_site,
            template="tasksapp/admin/system.html",
            title=_("System"),
            context={
                "sections": [ShownSection.of(section, now=now) for section in report],
                "checked": check,
                "queues_url": queues if request.user.has_perm(VIEW_QUEUES) else "",
                "media": self.media,
            },
            fragment="tasksapp/admin/system_sections.html",
        )


def shown(key: str, value: Value, unit: Unit, *, now: datetime) -> SafeString:
    """A value as people read it.

    Args:
        key: what it is.
        value: the value.
        unit: what it is measured in.
        now: the present.
    """
    match value:
        case None | "" | []:
            return quiet(DASH)
        case bool():
            return _yes(key, is_true=value)
        case datetime():
            return local_time(value, now=now)
        case int() | float():
            return format_html("{}", _measured(value, unit))
        case str():
            return format_html("{}", value)
    return format_html_join("", '<span class="delayhub-item">{}</span>', ((one,) for one in value))


def _measured(value: float, unit: Unit) -> str:
    match unit:
        case Unit.BYTES:
            return str(filesizeformat(value))
        case Unit.SECONDS:
            return duration(seconds=value)
        case Unit.MS:
            return duration(ms=value)
    return number(int(value)) if value == int(value) else f"{value:g}"


def _yes(key: str, *, is_true: bool) -> SafeString:
    if key == "is_default" and not is_true:
        return badge(_("changed"), "planned")
    if not is_true:
        return quiet(_("no"))
    return quiet(_("yes")) if key in _QUIET_TRUTHS else badge(_("yes"), "good")


def _cell(section: Section, row: Sequence[Value], keys: Sequence[str], *, now: datetime) -> Cell:
    """The values of some columns in one cell, the first large."""
    known = {column.key: (column, value) for column, value in zip(section.columns, row, strict=True)}
    first, value = known[keys[0]]
    texts = [_in_table(first.key, value, first.unit, now=now)]
    below: list[SafeString] = []
    for column, more in (known[key] for key in keys[1:]):
        if isinstance(more, bool):
            texts += [badge(column.label, "good")] if more else []
        elif more:
            below.append(shown(column.key, more, column.unit, now=now))
    if below:
        small = format_html_join(" · ", "{}", ((text,) for text in below))
        texts.append(format_html('<span class="delayhub-item delayhub-quiet">{}</span>', small))
    return Cell(first.label, format_html_join(" ", "{}", ((text,) for text in texts)), _is_number(section, first))


def _in_table(key: str, value: Value, unit: Unit, *, now: datetime) -> SafeString:
    """A value in a cell; of a time only how far away it is, which is what one compares."""
    if isinstance(value, datetime):
        exact = timezone.localtime(value).strftime("%Y-%m-%d %H:%M:%S")
        return format_html(
            '<time datetime="{}" title="{}">{}</time>', value.isoformat(), exact, time_away(value, now=now)
        )
    return shown(key, value, unit, now=now)


def _is_number(section: Section, column: Column) -> bool:
    """Whether a column holds numbers, which stand to the right."""
    at = section.columns.index(column)
    kinds = {type(row[at]) for row in section.rows} - {type(None)}
    is_alone = section.key not in _SHARED or (column.key,) in _SHARED[section.key]
    return section.key != "settings" and is_alone and bool(kinds) and kinds <= {int, float}
