"""How often Python looks for garbage in the processes of the ready-made project."""

from __future__ import annotations

import gc

#: New objects after which Python looks. Its own 700 make it look again and again while a process imports its modules,
#: which are no garbage: a tenth of the CPU of its start.
NEW_OBJECTS = 50_000


def collect_seldom() -> None:
    """Lets Python look for garbage after 50 000 new objects, unless this process has another threshold already."""
    first, *others = gc.get_threshold()
    if 0 < first < NEW_OBJECTS:
        gc.set_threshold(NEW_OBJECTS, *others)
