"""What a page of the admin costs: statements and their plans, CPU time of the server and of its database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.explain_jobs import FEW_ROWS, LARGE, explain, nodes, read_rows
from benchmarks.figures import percentile

#: What a page may take.
BOUND_MS = 150.0
BOUND_STATEMENTS = 12
#: Tables that are asked who the person is.
PERSON = ("django_session", "auth_user", "auth_permission", "auth_group")
#: These grow with the jobs, and with biz types and time.
TABLES = LARGE | {"delayhub_pulse", "delayhub_upcoming", "delayhub_audit_entry"}


@dataclass
class Page:
    """What was measured of one page.

    Args:
        bound_ms: what it may take.
        status: of the answer.
        kb: the size of the answer.
        statements: beyond those about the person.
        wall_ms: of each request, others' load included.
        cpu_ms: of each request: this process and the database's.
        database_ms: the database's part of that.
        faults: what is wrong with the plans.
        slowest: the statement that took longest, with its time.
    """

    bound_ms: float
    status: int = 0
    kb: float = 0.0
    statements: int = 0
    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    database_ms: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")

    @property
    def wrong(self) -> list[str]:
        """What is beyond a bound."""
        found = list(self.faults)
        if self.status != 200:
            found.append(f"answered {self.status}")
        if self.statements > BOUND_STATEMENTS:
            found.append(f"asked {self.statements} times")
        if at(self.cpu_ms, 0.95) > self.bound_ms:
            found.append(f"took {at(self.cpu_ms, 0.95)} ms of CPU")
        return found

    @property
    def figures(self) -> dict[str, float]:
        """The figures for the last line."""
        lists = {"wall": self.wall_ms, "cpu": self.cpu_ms, "database": self.database_ms}
        shares = {"p50": 0.5, "p95": 0.95}
        found = {f"{name} {word}": at(ms, share) for name, ms in lists.items() for word, share in shares.items()}
        return {"status": self.status, "statements": self.statements, "kb": self.kb, **found}


def at(ms: list[float], share: float) -> float:
    """The time that so great a share of the requests stayed within."""
    return round(percentile(ms, share), 1)


@dataclass
class Statements:
    """Stands between Django and the database and notes what is asked about anything but the person."""

    count: int = 0
    took_ms: float = 0.0
    slowest: tuple[float, str] = (0.0, "")

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not any(table in sql for table in PERSON) and not sql.startswith(("SAVEPOINT", "RELEASE", "ROLLBACK")):
            self.count += 1
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            took = (time.perf_counter() - began) * 1000
            self.took_ms += took
            self.slowest = max(self.slowest, (took, sql))


def measure(client: Any, address: str, *, requests: int, bound_ms: float = BOUND_MS) -> Page:
    """One page, asked for so many times after twice to warm up and to see its plans."""
    page = Page(bound_ms)
    with noted() as seen:
        answer = client.get(address)
    page.status, page.kb, page.statements = answer.status_code, round(len(answer.content) / 1000, 1), seen.count
    page.faults = [fault for plan in explain(lambda: client.get(address), tables=TABLES) for fault in faults(plan)]
    for _ in range(requests):
        began, worked, database = time.perf_counter(), time.process_time(), backend_ms()
        with noted() as seen:
            client.get(address)
        page.wall_ms.append((time.perf_counter() - began) * 1000)
        own = (time.process_time() - worked) * 1000
        page.database_ms.append(seen.took_ms if database is None else (backend_ms() or 0.0) - database)
        page.cpu_ms.append(own + page.database_ms[-1])
        page.slowest = max(page.slowest, seen.slowest)
    return page


@contextmanager
def noted() -> Iterator[Statements]:
    """Notes the statements of the block."""
    from django.db import connection

    seen = Statements()
    with connection.execute_wrapper(seen):
        yield seen


def backend_ms() -> float | None:
    """The CPU time of the database's process that serves this one, so far; None where it does not run here."""
    from django.db import connection

    connection.ensure_connection()
    info = connection.connection.info
    spent = Path(f"/proc/{info.backend_pid}/schedstat")
    if not info.host.startswith("/") or not spent.exists():
        return None
    return int(spent.read_text().split()[0]) / 1e6


def faults(plan: dict[str, Any]) -> list[str]:
    """What is wrong with a plan: it reads much without an index, or very much with one."""
    found = []
    for node in nodes(plan["Plan"]):
        if node.get("Relation Name") not in TABLES or read_rows(node) <= FEW_ROWS:
            continue
        if node["Node Type"] == "Seq Scan":
            found.append(f"reads {read_rows(node):,.0f} rows of {node['Relation Name']} without an index")
        elif node["Relation Name"] in LARGE:
            found.append(f"reads {read_rows(node):,.0f} rows of {node['Relation Name']} by {node.get('Index Name')}")
    return found
