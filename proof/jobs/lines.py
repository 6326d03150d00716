"""Strict order of flow keys by words of our own: which job of a key is the first, and that no other one begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from proof.broken import Broken
from proof.jobs.oracle import ENDS
from proof.jobs.rows import Row
from proof.jobs.sometimes import Sometimes

if TYPE_CHECKING:
    from proof.jobs.world import World

#: A biz type's id and a flow key.
Line = tuple[int, str]


def line_of(world: World, row: Row) -> Line | None:
    """The line in which a job is; None where it is in none."""
    return (row.biz_type_id, row.flow_key) if row.flow_key and world.kind(row).order else None


def first_of(world: World, line: Line) -> Row | None:
    """The job of a line that may begin, or has: the last that began, until it is over or moved; else by time."""
    rows = [row for row in world.rows.by_id.values() if line_of(world, row) == line and not _is_over(world, row)]
    for row in rows:
        if world.begun_in_line.get(line) == (row.id, row.due_ms):
            return row
    return min(rows, key=lambda row: (row.due_ms, row.place or 0), default=None)


def _is_over(world: World, row: Row) -> bool:
    return row.status in ENDS and not (row.status == "dead" and world.kind(row).order == "dead_blocks")


def is_behind(world: World, row: Row) -> bool:
    """Whether another job of its line comes first."""
    line = line_of(world, row)
    return line is not None and first_of(world, line) is not row


def check_lines(world: World, changed: Iterable[tuple[Row | None, Row]]) -> set[Line]:
    """The lines of which a job has changed. Raises Broken where one began before its turn."""
    lines: set[Line] = set()
    for before, after in changed:
        line = line_of(world, after)
        if line is None:
            continue
        lines.add(line)
        if after.status == "running" and (before is None or before.status != "running"):
            if is_behind(world, after):
                raise Broken(f"began before its turn: {world.name(after.id)}")
            if world.begun_in_line.get(line, (after.id,))[0] != after.id:
                world.met.note(Sometimes.NEXT_IN_LINE)
            world.begun_in_line[line] = after.id, after.due_ms
    return lines
