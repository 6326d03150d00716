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
    """The pages, by name."""
    from django.urls import reverse

    from tasksapp.models import BizType, Job

    biz_type = BizType.objects.order_by("id")[0]
    jobs, dead = reverse("admin:tasksapp_job_changelist"), Job.objects.filter(status="dead").order_by("id")[0]
    return {
        "overview": reverse("admin:index"),
        "jobs": jobs,
        "job": reverse("admin:tasksapp_job_change", args=[dead.id]),
        "biz types": reverse("admin:tasksapp_biztype_changelist"),
        "biz type": reverse("admin:tasksapp_biztype_change", args=[biz_type.id]),
    }


def signed_in() -> Any:
    """A client of somebody who may see everything."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(get_user_model().objects.create_superuser("ada", password="analytical"))
    return client


if __name__ == "__main__":
    sys.exit(main())
