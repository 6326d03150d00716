"""Biz types: the kinds of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class BizType:
    """A kind of job: its target, its retries, its limits."""

    code: str
    name: str
    description: str
    enabled: bool
    paused_until: datetime | None
    target: Literal["http", "celery"]
    #: Whether there is a secret that its callbacks are signed with.
    signed: bool
    max_attempts: int
    timeout_seconds: float
    guarantee: Literal["at_least_once", "at_most_once"]
    lane: str
