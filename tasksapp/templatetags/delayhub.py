"""Tags of the admin pages: the scripts that they share, a part that refreshes itself, the overview."""

from __future__ import annotations

from typing import Any, NamedTuple

from django import template
from django.apps import apps
from django.http import HttpRequest
from django.template import Context
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tasksapp.access.permissions import VIEW_QUEUES, VIEW_SYSTEM
from tasksapp.admin.frame.fragments import address
from tasksapp.admin.frame.requests import site_name

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
#: Label, name of the address, and the permission that it takes. A site that lacks a page has no entry for it.
PAGES: tuple[tuple[Promise, str, str], ...] = (
    (gettext_lazy("Issues"), "tasksapp_deadcount_changelist", "tasksapp.view_job"),
    (gettext_lazy("Alerts"), "tasksapp_alert_changelist", "tasksapp.view_job"),
    (gettext_lazy("Jobs"), "tasksapp_job_changelist", "tasksapp.view_job"),
    (gettext_lazy("Series"), "tasksapp_series_changelist", "tasksapp.view_series"),
    (gettext_lazy("Operations"), "tasksapp_operation_changelist", "tasksapp.view_operation"),
    (gettext_lazy("Biz types"), "tasksapp_biztype_changelist", "tasksapp.view_biztype"),
    (gettext_lazy("Celery queues"), "tasksapp_celery_queues", VIEW_QUEUES),
    (gettext_lazy("System"), "tasksapp_system", VIEW_SYSTEM),
    (gettext_lazy("Audit"), "tasksapp_auditentry_changelist", "tasksapp.view_auditentry"),
    (gettext_lazy("Tenants"), "tasksapp_tenant_changelist", "tasksapp.view_tenant"),
    (gettext_lazy("API keys"), "tasksapp_apikey_changelist", "tasksapp.view_apikey"),
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
    from tasksapp.templatetags.delayhub import menu  # noqa: PLC0415  Django loads this module also where no admin is

    return {"entries": menu(context["request"])}


class Entry(NamedTuple):
    """A page: what it is called, its address, and whether the person is there."""

    label: str | Promise
    url: str
    is_here: bool


def menu(request: HttpRequest) -> list[Entry]:
    """The pages that the site of the request has and that the person may see."""
    site = site_name(request)
    shown = [
        (label, address(name, site=site)) for label, name, permission in PAGES if request.user.has_perm(permission)
    ]
    if request.user.has_perm("tasksapp.view_job"):
        shown.insert(0, (_("Overview"), address("app_list", "tasksapp", site=site)))
    found = [(label, url) for label, url in shown if url]
    here = _here(request.path, [url for _label, url in found])
    return [Entry(label, url, url == here) for label, url in found]


def _here(path: str, urls: list[str]) -> str:
    """The entry that a page belongs to: the longest address that its own begins with."""
    return max((url for url in urls if path.startswith(url)), key=len, default="")
