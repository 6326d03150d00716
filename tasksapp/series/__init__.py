"""Series, for Python callers: ``from tasksapp import series``, then ``series.create(…)`` and the others.

The names below are loaded when they are first used, so that a project's ``models.py`` may import this before Django has
loaded its apps.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasksapp.series.lookup import find, find_by_name
    from tasksapp.series.outlook import Preview, preview
    from tasksapp.series.verbs import change, create, delete, pause, resume, trigger

__all__ = [
    "Preview",
    "change",
    "create",
    "delete",
    "find",
    "find_by_name",
    "pause",
    "preview",
    "resume",
    "trigger",
]

#: The modules of those that are not verbs.
_HOMES = {"Preview": "outlook", "preview": "outlook", "find": "lookup", "find_by_name": "lookup"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tasksapp.series' has no attribute {name!r}")
    home = _HOMES.get(name, "verbs")
    value = getattr(import_module(f"tasksapp.series.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
