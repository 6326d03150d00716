"""What a person who may not see bodies is shown in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from tasksapp.access.audit import BODIES, CHANGED
from tasksapp.access.permissions import VIEW_BODY
from tasksapp.admin.frame.json_text import indented


def may_see_bodies(request: HttpRequest) -> bool:
    """Whether the person may see what jobs carry and what receivers answer."""
    return request.user.has_perm(VIEW_BODY)


def masked_body(request: HttpRequest, text: str) -> SafeString:
    """A body or an answer, indented where it is JSON; its length for a person who may not see it."""
    if not may_see_bodies(request):
        return hidden(text)
    return format_html('<pre class="delayhub-body">{}</pre>', indented(text))


def hidden(text: str | bytes) -> SafeString:
    """What stands in place of what a person may not see: how long it is, and nothing else."""
    size = len(text.encode() if isinstance(text, str) else text)
    return format_html('<span class="delayhub-quiet">{}</span>', _("hidden (%(size)s bytes)") % {"size": f"{size:,}"})


def masked_changes(request: HttpRequest, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The ``before`` or ``after`` of an audit entry; without the text of a body for a person who may not see it."""
    if may_see_bodies(request):
        return dict(changes)
    masked = {name: _without_text(value) if name in BODIES else value for name, value in changes.items()}
    return {**masked, "request": CHANGED} if masked.get("request") else masked


def _without_text(value: Any) -> Any:
    # An entry keeps a body as its length, its hash and perhaps its text; see tasksapp.access.audit.
    if isinstance(value, Mapping):
        # The hash goes too: short bodies can be found by it.
        return {"bytes": value["bytes"]} if "bytes" in value else {}
    return None
