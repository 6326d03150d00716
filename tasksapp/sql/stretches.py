"""The number of the stretch of time in which a row lies: for statements that count or sum by stretches."""

from __future__ import annotations

#: By the database; ``{column}`` is a time. Two values follow: when the first stretch begins, and the seconds of each.
_NUMBERS = {
    "postgresql": "floor(extract(epoch FROM {column} - %s) / %s)::bigint",
    "sqlite": "CAST((julianday({column}) - julianday(%s)) * 86400.0 / %s + 0.000001 AS INTEGER)",
}


def stretch_number(column: str, *, vendor: str) -> str:
    """The SQL of the number of the stretch in which the column's time lies, counted from the first."""
    return _NUMBERS[vendor].format(column=column)
