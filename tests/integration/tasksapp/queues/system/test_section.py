"""A section as programs get it."""

from __future__ import annotations

from tasksapp.queues.system.section import Column, Fact, Section


def test_programs_get_values_by_their_keys() -> None:
    section = Section(
        key="x", title="X", facts=[Fact("a", "A", 1)], columns=[Column("b", "B"), Column("c", "C")], rows=[[2, None]]
    )

    assert section.as_json() == {"a": 1, "rows": [{"b": 2, "c": None}], "faults": [], "warnings": []}
