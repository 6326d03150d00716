"""For the tests of your project: jobs without Redis and worker, a private Redis server, a clock that tests move.

docs/jobs/testing.md has an example of each. The names are loaded when they are first used: pytest loads this package in
each run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from delayhub.extras import not_installed

if TYPE_CHECKING:
    from delayhub.local.redis_server import RedisServer
    from delayhub.testing.jobs import advance_jobs, run_due_jobs, without_timers
    from delayhub.testing.movable_clock import MovableClock

__all__ = ["MovableClock", "RedisServer", "advance_jobs", "run_due_jobs", "without_timers"]

_HOMES = {
    "MovableClock": "delayhub.testing.movable_clock",
    "RedisServer": "delayhub.local.redis_server",
    "advance_jobs": "delayhub.testing.jobs",
    "run_due_jobs": "delayhub.testing.jobs",
    "without_timers": "delayhub.testing.jobs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'delayhub.testing' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        raise not_installed(error, extra="embedded") from None


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
