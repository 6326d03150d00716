"""When the garbage collector runs: rarely while a process starts, then as usual."""

from __future__ import annotations

import gc

#: New objects after which Python collects garbage while a process starts. With its own 700 it collects again and again
#: while modules are imported, which are no garbage: a tenth of the CPU of a start.
NEW_OBJECTS = 50_000
#: Thresholds of this process before its start.
_before: list[tuple[int, int, int]] = []


def collect_rarely() -> None:
    """Raise the threshold of the garbage collector while the process starts, unless it is higher already, or 0."""
    first, *others = gc.get_threshold()
    if 0 < first < NEW_OBJECTS:
        _before.append(gc.get_threshold())
        gc.set_threshold(NEW_OBJECTS, *others)


def collect_as_usual() -> None:
    """Restore the threshold once the process has started, so that garbage does not hold memory and files for long."""
    if _before and gc.get_threshold()[0] == NEW_OBJECTS:
        gc.set_threshold(*_before.pop())
