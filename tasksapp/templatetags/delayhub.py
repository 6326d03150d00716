"""``{% delayhub_dashboard %}``: the jobs of each biz type, for the admin's first page."""

from __future__ import annotations

from typing import Any

from django import template

from tasksapp.admin.dashboard import dashboard

register = template.Library()


@register.inclusion_tag("tasksapp/admin/dashboard.html")
def delayhub_dashboard() -> dict[str, Any]:
    """The dashboard's table."""
    return dashboard()
