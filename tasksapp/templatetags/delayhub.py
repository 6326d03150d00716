"""``{% delayhub_dashboard %}``: whether jobs are delivered, and those of each biz type, for the admin's first page."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

register = template.Library()


@register.inclusion_tag("tasksapp/admin/dashboard.html", takes_context=True)
def delayhub_dashboard(context: Context) -> dict[str, Any]:
    """The dashboard: a banner while no job is delivered, and the table, with links to the admin site that shows it."""
    from tasksapp.admin.dashboard import dashboard  # noqa: PLC0415  Django loads this module also where no admin is
    from tasksapp.admin.delivery_banner import banner  # noqa: PLC0415  the same

    request: Any = context["request"]
    site = getattr(request, "current_app", None) or request.resolver_match.namespace
    return {**dashboard(site=site), "banner": banner(request)}
