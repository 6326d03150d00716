"""What ``delayhub.testing`` offers of jobs; it names this package by its dotted name."""

from __future__ import annotations

from tasksapp.testing.local_jobs import RanJob, SentCallback, WithoutTimers, bring_nearer, run_due_jobs

__all__ = ["RanJob", "SentCallback", "WithoutTimers", "bring_nearer", "run_due_jobs"]
