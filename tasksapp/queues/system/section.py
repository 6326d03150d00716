"""Section: one part of the system as names and values, and as a table of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

#: What a fact or a cell may be.
Value = str | int | float | bool | datetime | None | Sequence[str]


class Unit(StrEnum):
    """How people are shown a value."""

    PLAIN = "plain"
    BYTES = "bytes"
    SECONDS = "seconds"
    MS = "ms"


@dataclass(frozen=True, slots=True)
class Fact:
    """A value with its name: ``key`` in JSON, ``label`` for people."""

    key: str
    label: str
    value: Value
    unit: Unit = Unit.PLAIN


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    key: str
    label: str
    unit: Unit = Unit.PLAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A part of the system.

    Args:
        key: its name in JSON, as the report knows it.
        title: its name for people.
        facts: what is known of it.
        columns: the columns of its table.
        rows: the rows of its table, a value for each column.
        empty: what stands in place of a table without rows.
        faults: what is wrong with it, sentences for people.
        warnings: what may go wrong.
        notes: what people should know to read it.
    """

    key: str = ""
    title: str = ""
    facts: Sequence[Fact] = ()
    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Value]] = ()
    empty: str = ""
    faults: Sequence[str] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()

    def as_json(self) -> Mapping[str, Any]:
        """The section for programs: values by their keys, sentences as they are."""
        found: dict[str, Any] = {fact.key: fact.value for fact in self.facts}
        if self.columns:
            keys = [column.key for column in self.columns]
            found["rows"] = [dict(zip(keys, row, strict=True)) for row in self.rows]
        return found | {"faults": list(self.faults), "warnings": list(self.warnings)}
