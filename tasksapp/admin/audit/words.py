"""The words in which pages say what entries of the audit are about."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import FieldDoesNotExist
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from tasksapp.access.audit import BODIES, CHANGED, Deed
from tasksapp.access.shown_text import shown_text
from tasksapp.admin.frame.fragments import listed, named
from tasksapp.admin.frame.masking import masked_changes
from tasksapp.models import UNTIL_RESUMED, ApiKey, AuditEntry, BizType, Job, Series, Status


class Change(NamedTuple):
    """One column that a deed changed, in words.

    Args:
        label: what people call the column.
        before: what it was; '' where that is not known.
        after: what it is.
    """

    label: str
    before: str
    after: str


def deed_label(verb: str) -> str:
    """What people call the verb of an entry."""
    return str(Deed(verb).label) if verb in Deed else verb


def changes_of(request: HttpRequest, entry: AuditEntry) -> list[Change]:
    """What the entry says was changed, without what the person may not see."""
    return list(_changes(masked_changes(request, entry.before), masked_changes(request, entry.after)))


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        old = _in_words(name, before[name]) if name in before else ""
        yield Change(_label(name), old, _in_words(name, after.get(name)))


def _label(name: str) -> str:
    for model in (Job, BizType, ApiKey, Series):
        try:
            return capfirst(str(getattr(model._meta.get_field(name), "verbose_name", name)))
        except FieldDoesNotExist:
            continue
    return capfirst(name.replace("_", " "))


def _in_words(name: str, value: Any) -> str:
    if value is None or value in ("", []):
        return _("empty")
    if value == CHANGED:
        return _("changed")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        value = listed(str(part) for part in value)
    if isinstance(value, dict) and name not in BODIES:
        value = listed(named(key, _in_words(key, part)) for key, part in value.items())
    if name == "status" and value in Status.values:
        return str(Status(value).label)
    if name in BODIES and isinstance(value, dict):
        return _body(value)
    time = _time(value) if name.endswith(("_at", "_until")) else None
    # An entry may be older than the mark of its column.
    return shown_text(name, str(value)) if time is None else _shown_time(time)


def _body(mark: dict[str, Any]) -> str:
    size = f"{mark.get('bytes', 0):,}"
    return str(mark.get("text") or _("%(size)s bytes") % {"size": size})


def _shown_time(time: datetime) -> str:
    if time >= UNTIL_RESUMED:
        return _("until somebody resumes it")
    return timezone.localtime(time).strftime("%Y-%m-%d %H:%M:%S")


def _time(value: Any) -> datetime | None:
    try:
        time = parse_datetime(str(value))
    except ValueError:
        return None
    return time if time is not None and timezone.is_aware(time) else None
