"""The menu: the app's pages that a person may see."""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from tasksapp.access.permissions import VIEW_QUEUES, VIEW_SYSTEM
from tasksapp.admin.frame.fragments import address
from tasksapp.admin.frame.requests import site_name


class Entry(NamedTuple):
    """A page: what it is called, its address, and whether the person is there."""

    label: str | Promise
    url: str
    is_here: bool


#: Label, name of the address, and the permission that it takes. A site that lacks a page has no entry for it.
PAGES: tuple[tuple[Promise, str, str], ...] = (
    (_("Issues"), "tasksapp_deadcount_changelist", "tasksapp.view_job"),
    (_("Alerts"), "tasksapp_alert_changelist", "tasksapp.view_job"),
    (_("Jobs"), "tasksapp_job_changelist", "tasksapp.view_job"),
    (_("Series"), "tasksapp_series_changelist", "tasksapp.view_series"),
    (_("Operations"), "tasksapp_operation_changelist", "tasksapp.view_operation"),
    (_("Biz types"), "tasksapp_biztype_changelist", "tasksapp.view_biztype"),
    (_("Celery queues"), "tasksapp_celeryqueue_changelist", VIEW_QUEUES),
    (_("System"), "tasksapp_system_changelist", VIEW_SYSTEM),
    (_("Audit"), "tasksapp_auditentry_changelist", "tasksapp.view_auditentry"),
    (_("Tenants"), "tasksapp_tenant_changelist", "tasksapp.view_tenant"),
    (_("API keys"), "tasksapp_apikey_changelist", "tasksapp.view_apikey"),
)


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
