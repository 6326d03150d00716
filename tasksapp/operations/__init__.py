"""Operations: one verb for all jobs that match a filter, counted, started, paced and stopped by people and callers.

A request only writes what is wanted. ``tasksapp.maintenance`` counts and changes the jobs, a bounded part in each turn.
"""

from __future__ import annotations

from tasksapp.operations.backfill import plan_backfill
from tasksapp.operations.progress import Progress, progress
from tasksapp.operations.rest import plan_rest, rest_of
from tasksapp.operations.starter import Starter
from tasksapp.operations.verbs import current, find, plan, repace, start, stop

__all__ = [
    "Progress",
    "Starter",
    "current",
    "find",
    "plan",
    "plan_backfill",
    "plan_rest",
    "progress",
    "repace",
    "rest_of",
    "start",
    "stop",
]
