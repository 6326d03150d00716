"""Biz types, for Python callers: ``from tasksapp import biz_types``, then ``biz_types.create(…)`` and the others.

The names below are loaded when they are first used, so that a project's ``models.py`` may import this before Django has
loaded its apps.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasksapp.biz_types.by_code import change, create, find
    from tasksapp.biz_types.editing import NewBizType
    from tasksapp.biz_types.verbs import (
        Signing,
        delete,
        make_signing_secret,
        pause,
        resume,
        rotate_signing_secret,
        stop_signing,
    )

__all__ = [
    "NewBizType",
    "Signing",
    "change",
    "create",
    "delete",
    "find",
    "make_signing_secret",
    "pause",
    "resume",
    "rotate_signing_secret",
    "stop_signing",
]

#: The modules of those that do not take a biz type that is there.
_HOMES = {"NewBizType": "editing", "change": "by_code", "create": "by_code", "find": "by_code"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tasksapp.biz_types' has no attribute {name!r}")
    home = _HOMES.get(name, "verbs")
    value = getattr(import_module(f"tasksapp.biz_types.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
