"""Small pieces of HTML that several pages show."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil


def badge(text: str, kind: str) -> SafeString:
    """A coloured word; the style sheet knows the kinds."""
    return format_html('<span class="delayhub-badge delayhub-{}">{}</span>', kind, text)


def moment(value: datetime | None, *, now: datetime | None = None) -> SafeString:
    """A time in the current zone, with how far away it is."""
    if value is None:
        return format_html('<span class="delayhub-quiet">{}</span>', "-")
    now = now or timezone.now()
    away = f"in {timeuntil(value, now, depth=1)}" if value > now else f"{timesince(value, now, depth=1)} ago"
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}">{}</time> <span class="delayhub-quiet">{}</span>',
        value.isoformat(),
        local.strftime("%Y-%m-%d %H:%M:%S"),
        away,
    )


def document(text: str) -> SafeString:
    """JSON, indented; anything else as it is."""
    with suppress(ValueError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return format_html('<pre class="delayhub-body">{}</pre>', text)
