"""Steps of cron fields that are larger than what they count through: parsers read ``*/61`` as ``0``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


class _Field(NamedTuple):
    size: int
    names: Sequence[str] = ()


#: Second, minute, hour, day of the month, month, day of the week.
_FIELDS = (_Field(60), _Field(60), _Field(24), _Field(31), _Field(12, _MONTHS), _Field(7, _DAYS))


def idle_step(fields: Sequence[str]) -> str | None:
    """Return the first term whose step leaves nothing but its first value, such as ``*/61``; None if there is none.

    Args:
        fields: those of a cron expression, five or six with the second first. Texts that are no cron have no such term.
    """
    if len(fields) not in (5, 6):
        return None
    for text, field in zip(fields, _FIELDS[-len(fields) :], strict=True):
        for term in text.upper().split(","):
            values, slash, step = term.partition("/")
            if slash and step.isascii() and step.isdigit() and int(step) > _count(values, field):
                return term
    return None


def _count(values: str, field: _Field) -> int:
    """Return how many values a step counts through: a single value begins a range to the end of its field."""
    if values in {"L", "LW"}:
        return 0  # one day, which a step does not change
    first, dash, last = values.partition("-")
    if not dash:
        return field.size
    begin, end = _value(first, field), _value(last, field)
    if begin is None or end is None:
        return field.size
    return (end - begin if end >= begin else end + field.size - begin) + 1  # Celery's ranges go over the end


def _value(text: str, field: _Field) -> int | None:
    if text[:3] in field.names:
        return field.names.index(text[:3])
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else None
