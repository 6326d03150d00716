"""The admin's pages, by name: each of them, and the lists with each tab, filter and order."""

from __future__ import annotations

from typing import Any

JOBS = "tasksapp_job_changelist"


def addresses() -> dict[str, str]:
    """The address of each page, about the first biz type and some of its jobs."""
    from tasksapp.models import BizType, Job

    biz_type = BizType.objects.order_by("id")[0]
    of_it = Job.objects.filter(biz_type=biz_type)
    dead = of_it.filter(status="dead").order_by("finished_at")[0]
    pending = of_it.filter(status="pending").order_by("-next_run_at")[0]
    return {
        "overview": page("index"),
        "overview: 30 days": page("index", query="ahead=30d"),
        "overview, refreshed": page("tasksapp_deadcount_overview"),
        **lists(biz_type.code, dead),
        "a dead job": page("tasksapp_job_change", dead.id),
        "a pending job": page("tasksapp_job_change", pending.id),
        "to edit a job": page("tasksapp_job_edit", pending.id),
        "history of a job": page("tasksapp_job_history", dead.id),
        "issues": page("tasksapp_deadcount_changelist"),
        "biz types": page("tasksapp_biztype_changelist"),
        "a biz type": page("tasksapp_biztype_change", biz_type.id),
        "to pause": page("tasksapp_biztype_pause", biz_type.id),
        "secrets": page("tasksapp_biztype_secrets", biz_type.id),
        "to test": page("tasksapp_biztype_test", biz_type.id),
        "operations": page("tasksapp_operation_changelist"),
        "to plan": page("tasksapp_operation_plan", query=f"verb=redrive&status=dead&biz_type={biz_type.code}"),
        "audit": page("tasksapp_auditentry_changelist"),
        "API keys": page("tasksapp_apikey_changelist"),
        "Celery queues": page("tasksapp_celeryqueue_changelist"),
        "system": page("tasksapp_system_changelist"),
    }


def lists(code: str, dead: Any) -> dict[str, str]:
    """The list of jobs: its tabs, filters, orders and searches."""
    found = {"jobs": page(JOBS), "jobs: all": page(JOBS, query="tab=all")}
    for tab in ("pending", "due", "running", "dead", "done", "off"):
        found[f"jobs: {tab}"] = page(JOBS, query=f"tab={tab}")
        found[f"jobs: {tab}, a biz type"] = page(JOBS, query=f"tab={tab}&biz_type={code}")
    return found | {
        "jobs: pending, turned": page(JOBS, query=f"tab=pending&biz_type={code}&o=turned"),
        "jobs: done, a day": page(JOBS, query="tab=done&range=yesterday"),
        "jobs: dead, an error": page(JOBS, query=f"tab=dead&biz_type={code}&error_class=timeout"),
        "jobs: dead, an error of all": page(JOBS, query="tab=dead&error_class=timeout"),
        "jobs: an id": page(JOBS, query=f"q={dead.id}"),
        "jobs: a biz id": page(JOBS, query=f"q={dead.biz_id}"),
        "jobs: a prefix": page(JOBS, query=f"q={dead.biz_id[:8]}*"),
    }


def page(name: str, *args: object, query: str = "") -> str:
    """The address of a page of the admin."""
    from django.urls import reverse

    return reverse(f"admin:{name}", args=args) + (f"?{query}" if query else "")


def signed_in() -> Any:
    """A client of somebody who may see everything."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    client = Client(headers={"host": "127.0.0.1"})
    person, _ = get_user_model().objects.get_or_create(username="ada", is_staff=True, is_superuser=True)
    client.force_login(person)
    return client
