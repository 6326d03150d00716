"""For the tests of your project: jobs without Redis and worker, a private Redis server, a clock that tests move.

docs/testing.md has an example of each.
"""

from __future__ import annotations

from delayhub.local.redis_server import RedisServer
from delayhub.testing.jobs import advance_jobs, run_due_jobs, without_timers
from delayhub.testing.movable_clock import MovableClock

__all__ = ["MovableClock", "RedisServer", "advance_jobs", "run_due_jobs", "without_timers"]
