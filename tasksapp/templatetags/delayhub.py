"""Tags of the admin pages: the scripts that they share, a part that refreshes itself, the overview."""

from __future__ import annotations

from typing import Any

from django import template
from django.apps import apps
from django.template import Context
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()

#: Where a request keeps that its page has the overview.
SHOWN = "_delayhub_overview"

#: The package that ships htmx, which refreshes parts of pages. Without it, pages stay as they were loaded.
HTMX_APP = "django_htmx"
#: No style from the script, no history; a part that is refreshed keeps what a person has opened in it.
HTMX_CONFIG = (
    '{"includeIndicatorCSS": false, "includeIndicatorStyles": false, "history": false, "historyEnabled": false,'
    ' "allowEval": false, "morphIgnore": ["data-htmx-powered", "open"]}'
)


@register.simple_tag
def delayhub_scripts() -> SafeString:
    """The scripts that pages share, for the block ``extrahead``: keys of the keyboard, and refreshing."""
    keys = format_html('<script src="{}" defer></script>', static("tasksapp/keys.js"))
    if not apps.is_installed(HTMX_APP):
        return keys
    return format_html(
        '<meta name="htmx-config" content="{}">{}<script src="{}" data-htmx="{}" defer></script>',
        HTMX_CONFIG,
        keys,
        static("tasksapp/live.js"),
        static("django_htmx/htmx-4.min.js"),
    )


@register.simple_block_tag(takes_context=True)
def delayhub_live(context: Context, content: str, url: str = "", seconds: int = 5) -> SafeString:
    """A part of a page that refreshes itself: ``{% delayhub_live %}{% include "…" %}{% enddelayhub_live %}``.

    Args:
        context: the page's.
        content: the part as it is now.
        url: where the part is had later; this page's own address with ``fragment`` if empty.
        seconds: how often.
    """
    from tasksapp.admin.frame.fragments import clock_time  # noqa: PLC0415  Django loads this module also where no admin is

    if not url:
        query = context["request"].GET.copy()
        query["fragment"] = "1"
        url = f"?{query.urlencode()}"
    return format_html(
        '<div class="delayhub-live"><div class="delayhub-live-bar"><span>{} <span data-delayhub-as-of>{}</span></span>'
        '<span class="delayhub-late" data-delayhub-stopped hidden>{}</span>'
        '<button type="button" class="delayhub-small" data-delayhub-pause data-resume="{}" hidden>{}</button></div>'
        '<div data-delayhub-live="{}" hx-get="{}" hx-trigger="delayhub:refresh" hx-swap="innerMorph">{}</div></div>',
        _("as of"),
        clock_time(timezone.now()),
        _("no answer; load the page again"),
        _("Refresh again"),
        _("Stop refreshing"),
        seconds,
        url,
        SafeString(content),
    )


@register.inclusion_tag("tasksapp/admin/overview_page.html", takes_context=True)
def delayhub_overview(context: Context) -> dict[str, Any]:
    """The overview, which refreshes itself, with links to the admin site that shows it; nothing the second time.

    A project's first page may have it, and the app's own page extends that.
    """
    from tasksapp.admin.overview.overview import overview  # noqa: PLC0415  Django loads this module also where no admin is

    request: Any = context["request"]
    if hasattr(request, SHOWN) or not request.user.has_perm("tasksapp.view_job"):
        return {"is_shown": False}
    setattr(request, SHOWN, True)
    return {**overview(request), "request": request, "is_shown": True}


@register.simple_tag(takes_context=True)
def delayhub_mark(context: Context) -> SafeString:
    """A link to the overview that says whether jobs are delivered, for the frame of each page."""
    from tasksapp.admin.frame.delivery_banner import mark_of  # noqa: PLC0415  Django loads this module also where no admin is

    request: Any = context["request"]
    mark = mark_of(request)
    return format_html(
        '<a class="delayhub-mark delayhub-{}" href="{}">{}</a>',
        mark.tone,
        reverse("admin:app_list", args=["tasksapp"], current_app=getattr(request, "current_app", None)),
        mark.text,
    )


@register.inclusion_tag("tasksapp/admin/nav.html", takes_context=True)
def delayhub_nav(context: Context) -> dict[str, Any]:
    """The menu of the app's pages that the person may see, on the admin site that shows it."""
    from tasksapp.admin.frame.menu import menu  # noqa: PLC0415  Django loads this module also where no admin is

    return {"entries": menu(context["request"])}
