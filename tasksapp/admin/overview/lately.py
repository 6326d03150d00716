"""What people and keys did lately, for the overview: one line each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from tasksapp.admin.audit.words import deed_label
from tasksapp.admin.frame.fragments import address, clock_time, number, time_away
from tasksapp.models import AuditEntry, Operation

#: Lines on the overview.
SHOWN = 8


def recent_lines(request: HttpRequest, *, site: str, now: datetime) -> list[dict[str, Any]]:
    """The last deeds, the newest first; none for a person who may not see the audit."""
    if not request.user.has_perm("tasksapp.view_auditentry"):
        return []
    return [_line(entry, site=site, now=now) for entry in AuditEntry.objects.order_by("-id")[:SHOWN]]


def open_operations(request: HttpRequest, *, site: str) -> list[dict[str, Any]]:
    """The operations that are counted, wait for their start or run; none for a person who may not see them."""
    if not request.user.has_perm("tasksapp.view_operation"):
        return []
    states = [Operation.State.PLANNING, Operation.State.PLANNED, Operation.State.RUNNING]
    found = Operation.objects.filter(state__in=states).select_related("biz_type__tenant").order_by("-id")
    return [_operation(operation, site=site) for operation in found[:SHOWN]]


def _line(entry: AuditEntry, *, site: str, now: datetime) -> dict[str, Any]:
    words = {"actor": entry.actor, "deed": deed_label(entry.verb), "what": entry.what or _short(entry)}
    return {
        "text": _("%(actor)s: %(deed)s, %(what)s") % words if words["what"] else _("%(actor)s: %(deed)s") % words,
        "reason": entry.reason,
        "at": clock_time(entry.at),
        "away": time_away(entry.at, now=now),
        "url": _where(entry, site=site),
    }


def _where(entry: AuditEntry, *, site: str) -> str:
    pages: Iterable[tuple[str, object]] = (
        ("tasksapp_operation_change", entry.operation_id),
        ("tasksapp_job_change", entry.job_id),
        ("tasksapp_biztype_change", entry.biz_type_id),
    )
    return next((address(page, key, site=site) for page, key in pages if key is not None), "")


def _short(entry: AuditEntry) -> str:
    if entry.operation_id is not None:
        return _("operation %(number)s") % {"number": entry.operation_id}
    return "" if entry.job_id is None else _("job %(id)s") % {"id": str(entry.job_id)[-12:]}


def _operation(operation: Operation, *, site: str) -> dict[str, Any]:
    planned, code = operation.planned or 0, operation.biz_type.label if operation.biz_type else ""
    words = {
        "verb": operation.get_verb_display(),
        "biz_type": code or _("all biz types"),
        "actor": operation.started_by,
        "state": operation.get_state_display(),
    }
    return {
        "text": _("%(verb)s, %(biz_type)s, by %(actor)s: %(state)s") % words,
        "done": operation.done,
        "planned": planned,
        "progress": _("%(done)s of %(planned)s") % {"done": number(operation.done), "planned": number(planned)},
        "url": address("tasksapp_operation_change", operation.pk, site=site),
    }
