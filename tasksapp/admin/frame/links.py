"""Addresses of pages that show or change certain jobs, for links and buttons on other pages."""

from __future__ import annotations

from urllib.parse import urlencode

from tasksapp.admin.frame.fragments import address


def jobs_address(*, site: str, **chosen: str) -> str:
    """The list of the jobs that are chosen so, by names of a JobFilter or a ``tab``; '' where a site has no list."""
    return _with_query(address("tasksapp_job_changelist", site=site), chosen)


def plan_address(verb: str, *, site: str, **chosen: str) -> str:
    """The page that plans an operation: the verb for all jobs that are chosen so; '' where a site has none."""
    return _with_query(address("tasksapp_operation_plan", site=site), {"verb": verb, **chosen})


def _with_query(url: str, query: dict[str, str]) -> str:
    return url and f"{url}?{urlencode(query)}"
