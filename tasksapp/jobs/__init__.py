"""Jobs, for Python callers: ``from tasksapp import jobs``, then ``jobs.create(…)``, ``jobs.cancel(…)`` and the others.

The names below are loaded when they are first used, so that a project's ``models.py`` may import this before Django has
loaded its apps.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasksapp.jobs.answer_links import MadeLink, links_of, make_link, withdraw_link
    from tasksapp.jobs.asynchronous import acancel, acreate, areschedule
    from tasksapp.jobs.bulk import BulkOutcome, apply_many
    from tasksapp.jobs.business_key import find_live
    from tasksapp.jobs.creation import Created, create, create_many
    from tasksapp.jobs.editing import edit
    from tasksapp.jobs.made_again import follow_up_again, run_again
    from tasksapp.jobs.requests import JobRequest, Rejected
    from tasksapp.jobs.resolving import Resolution, lift, resolve
    from tasksapp.jobs.verbs import Verb, cancel, drop, redrive, reschedule, run_now

__all__ = [
    "BulkOutcome",
    "Created",
    "JobRequest",
    "MadeLink",
    "Rejected",
    "Resolution",
    "Verb",
    "acancel",
    "acreate",
    "apply_many",
    "areschedule",
    "cancel",
    "create",
    "create_many",
    "drop",
    "edit",
    "find_live",
    "follow_up_again",
    "lift",
    "links_of",
    "make_link",
    "redrive",
    "reschedule",
    "resolve",
    "run_again",
    "run_now",
    "withdraw_link",
]

_MODULES = {
    "answer_links": ("MadeLink", "links_of", "make_link", "withdraw_link"),
    "asynchronous": ("acancel", "acreate", "areschedule"),
    "bulk": ("BulkOutcome", "apply_many"),
    "business_key": ("find_live",),
    "creation": ("Created", "create", "create_many"),
    "editing": ("edit",),
    "made_again": ("follow_up_again", "run_again"),
    "requests": ("JobRequest", "Rejected"),
    "resolving": ("Resolution", "lift", "resolve"),
    "verbs": ("Verb", "cancel", "drop", "redrive", "reschedule", "run_now"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'tasksapp.jobs' has no attribute {name!r}") from None
    value = getattr(import_module(f"tasksapp.jobs.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
