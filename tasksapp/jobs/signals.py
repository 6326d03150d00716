"""Signals of jobs, for a project's own code: sent in the worker after the outcome is committed.

A receiver takes ``job_id``, ``biz_type`` (its row), ``biz_id``, ``last_error`` and ``using``, the database. What it
raises is logged and changes nothing. A signal is lost where the process ends between the commit and the signal: what
must not be lost is a follow-up (``on_success``, ``on_dead`` of the biz type).
"""

from __future__ import annotations

from django.dispatch import Signal

#: A job has succeeded.
job_succeeded = Signal()
#: A job is dead: given up, or too old.
job_dead = Signal()
