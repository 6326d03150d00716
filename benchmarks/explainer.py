"""Explainer: the plans of what a call asks the database, explained while it runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.db import connection, transaction

#: Tables that grow with the jobs.
LARGE = {"delayhub_job", "delayhub_attempt", "delayhub_idempotency_key"}
#: The admin counts to 10 000 and then stops; to find that many of a status that most rows have, a scan of the table's
#: beginning is right.
FEW_ROWS = 20_000
#: PostgreSQL's types of values, where it could take an expression with them for another.
TYPES = {datetime: "timestamptz", timedelta: "interval", bool: "boolean", int: "bigint", float: "double precision"}
#: What is asked about the person.
NOT_COUNTED = ("django_session", "auth_user", "auth_permission", "auth_group", "SAVEPOINT", "RELEASE", "ROLLBACK")


@dataclass
class Explainer:
    """Stands between Django and the database: explains each statement about some tables while it runs."""

    tables: Collection[str]
    #: By their text, the names of statements whose plans are kept, for any values; None: each plan is for its values.
    kept: dict[str, str] | None = None
    plans: list[dict[str, Any]] = field(default_factory=list)
    #: How many statements there were, but for those about the person.
    count: int = 0

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        self.count += not any(word in sql for word in NOT_COUNTED)
        if any(table in sql for table in self.tables):
            with context["connection"].wrap_database_errors, context["cursor"].connection.cursor() as cursor:
                # Analysing a statement runs it, so what it did is undone before it runs for its caller.
                cursor.execute("SAVEPOINT explained")
                text, values = (sql, params) if self.kept is None else self._prepared(cursor, sql, params)
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", values)
                self.plans.append(cursor.fetchone()[0][0])
                cursor.execute("ROLLBACK TO SAVEPOINT explained")
        return execute(sql, params, many, context)

    def _prepared(self, cursor: Any, sql: str, params: Any) -> tuple[str, list[Any]]:
        """The statement by its name, and its values; its plan is made once, for any values."""
        assert self.kept is not None
        named = isinstance(params, Mapping)
        values = list(params.values() if named else params or ())
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        if sql not in self.kept:
            numbers = [f"${number}" for number in range(1, len(values) + 1)]
            body = sql % (dict(zip(params, numbers, strict=True)) if named else tuple(numbers))
            types = ", ".join(TYPES.get(type(value), "unknown") for value in values)
            name = f"explained_{next(_numbers)}"
            cursor.execute(f"PREPARE {name} ({types}) AS {body}" if values else f"PREPARE {name} AS {body}")
            self.kept[sql] = name
        places = f" ({', '.join(['%s'] * len(values))})" if values else ""
        return f"EXECUTE {self.kept[sql]}{places}", values


_numbers = count()


def explain(statement: Callable[[], object], *, kept: dict[str, str] | None = None) -> Explainer:
    """What a call runs, with the plans of that on large tables; nothing of it stays but the plans in ``kept``."""
    explainer = Explainer(LARGE, kept)
    with transaction.atomic():
        with connection.execute_wrapper(explainer):
            statement()
        transaction.set_rollback(True)
    return explainer


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan and all that is below it."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


def faults(plan: dict[str, Any], *, bound_ms: float) -> list[str]:
    """What is wrong with a plan."""
    found = [
        f"reads {read_rows(node):,.0f} rows of {node['Relation Name']} without an index"
        for node in nodes(plan["Plan"])
        if node["Node Type"] == "Seq Scan" and node.get("Relation Name") in LARGE and read_rows(node) > FEW_ROWS
    ]
    if plan["Execution Time"] > bound_ms:
        found.append(f"took {plan['Execution Time']:.0f} ms")
    return found


def read_rows(node: dict[str, Any]) -> float:
    """How many rows a scan has looked at."""
    return float((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])


def describe(plan: dict[str, Any], indent: int = 4) -> str:
    """A plan as an indented list."""
    where = plan.get("Index Name") or plan.get("Relation Name") or plan.get("CTE Name") or ""
    lines = [f"{'':{indent}}{plan['Node Type']} {where} ({plan['Actual Rows']:.0f} rows)".rstrip()]
    return "\n".join([*lines, *(describe(below, indent + 2) for below in plan.get("Plans", ()))])
