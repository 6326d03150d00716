"""How long do the admin's pages take, and how many statements, when the tables are large?

Question: with so many jobs, does each page of the admin answer within 150 ms (p95, on the server), with at most 12
    statements beyond those for the session and the person?
Machine: whatever runs it; a private PostgreSQL and Redis, some 1.2 GB of disk for each million rows.
Command: make bench-admin, or make bench-admin ROWS=1000000
Result: a line for each page with p50, p95 and the number of statements, then one JSON line; exit code 1 where a page is
    slower, asks more often, or does not answer 200.
Caveat: one request at a time through Django's test client: middleware, view and template, but no network and no
    browser. The rows have just been written and are in memory as far as they fit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from explain_rows import fill
from jobs_rig import rig

#: What a page may take.
BOUND_MS = 150.0
BOUND_STATEMENTS = 12
#: Tables that are asked who the person is.
PERSON = ("django_session", "auth_user", "auth_permission", "auth_group")


@dataclass
class Page:
    """What was measured of one page."""

    status: int = 0
    statements: int = 0
    ms: list[float] = field(default_factory=list)

    def at(self, share: float) -> float:
        """The time that so great a share of the requests stayed within."""
        ordered = sorted(self.ms)
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)

    @property
    def is_slow(self) -> bool:
        return self.status != 200 or self.at(0.95) > BOUND_MS or self.statements > BOUND_STATEMENTS


@dataclass
class Counter:
    """Stands between Django and the database and counts what is asked about anything but the person."""

    statements: int = 0

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not any(table in sql for table in PERSON) and not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK")):
            self.statements += 1
        return execute(sql, params, many, context)


def measure(client: Any, address: str, *, requests: int) -> Page:
    """One page, asked for so many times after once to warm up."""
    from django.db import connection

    page, counter = Page(), Counter()
    with connection.execute_wrapper(counter):
        page.status = client.get(address).status_code
    page.statements = counter.statements
    for _ in range(requests):
        began = time.perf_counter()
        client.get(address)
        page.ms.append((time.perf_counter() - began) * 1000)
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--biz-types", type=int, default=50)
    parser.add_argument("--requests", type=int, default=40)
    asked = parser.parse_args()
    with rig() as made:
        made.set_django_up()
        seconds = fill(asked.rows, biz_types=asked.biz_types)
        client = signed_in()
        found: dict[str, Page] = {}
        for name, address in addresses().items():
            page = found[name] = measure(client, address, requests=asked.requests)
            mark = "  <-- beyond the bound" if page.is_slow else ""
            figures = f"p50 {page.at(0.5):7.1f} ms  p95 {page.at(0.95):7.1f} ms  {page.statements:3} statements"
            print(f"{name:45} {page.status} {figures}{mark}", flush=True)
    slow = [name for name, page in found.items() if page.is_slow]
    pages = {name: {"p50": p.at(0.5), "p95": p.at(0.95), "statements": p.statements} for name, p in found.items()}
    print(json.dumps({"rows": asked.rows, "fill s": seconds, "pages": pages, "beyond the bound": slow}))
    return int(bool(slow))


def addresses() -> dict[str, str]:
    """The pages, by name: each of them, and the lists with each tab, filter and order."""
    from django.urls import reverse

    from tasksapp.models import BizType, Job

    def admin(name: str, *args: object, query: str = "") -> str:
        return reverse(f"admin:{name}", args=args) + (f"?{query}" if query else "")

    biz_type = BizType.objects.order_by("id")[0]
    dead = Job.objects.filter(status="dead", biz_type=biz_type).order_by("id")[0]
    pending = Job.objects.filter(status="pending", biz_type=biz_type).order_by("-id")[0]
    jobs, code = "tasksapp_job_changelist", f"biz_type={biz_type.code}"
    found = {"overview": reverse("admin:index"), "jobs": admin(jobs)}
    for tab in ("pending", "due", "running", "dead", "done", "off"):
        found[f"jobs: {tab}"] = admin(jobs, query=f"tab={tab}")
        found[f"jobs: {tab}, a biz type"] = admin(jobs, query=f"tab={tab}&{code}")
    found |= {
        "jobs: dead, an error": admin(jobs, query=f"tab=dead&{code}&error_class=timeout"),
        "jobs: an id": admin(jobs, query=f"q={dead.id}"),
        "jobs: a biz id": admin(jobs, query=f"q={dead.biz_id}"),
        "jobs: a prefix": admin(jobs, query=f"q={dead.biz_id[:8]}*"),
        "a dead job": admin("tasksapp_job_change", dead.id),
        "a pending job": admin("tasksapp_job_change", pending.id),
        "to edit a job": admin("tasksapp_job_edit", pending.id),
        "history of a job": admin("tasksapp_job_history", dead.id),
        "issues": admin("tasksapp_deadcount_changelist"),
        "biz types": admin("tasksapp_biztype_changelist"),
        "a biz type": admin("tasksapp_biztype_change", biz_type.id),
        "what if": admin("tasksapp_biztype_whatif", biz_type.id),
        "to pause": admin("tasksapp_biztype_pause", biz_type.id),
        "secrets": admin("tasksapp_biztype_secrets", biz_type.id),
        "to test": admin("tasksapp_biztype_test", biz_type.id),
        "operations": admin("tasksapp_operation_changelist"),
        "to plan": admin("tasksapp_operation_plan", query=f"verb=redrive&status=dead&{code}"),
        "audit": admin("tasksapp_auditentry_changelist"),
        "API keys": admin("tasksapp_apikey_changelist"),
        "Celery queues": admin("tasksapp_celery_queues"),
        "system": admin("tasksapp_system"),
    }
    return found


def signed_in() -> Any:
    """A client of somebody who may see everything."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(get_user_model().objects.create_superuser("ada", password="analytical"))
    return client


if __name__ == "__main__":
    sys.exit(main())
