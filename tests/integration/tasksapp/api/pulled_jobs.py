"""Jobs that are pulled, for tests of the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from delayhub.clock import moment
from tasksapp import jobs
from tasksapp.biz_types.gates import bring_gates
from tasksapp.models import BizType
from tasksapp.pulling.puller import redis_clock

#: ``pull(**fields)`` claims jobs of the biz type ``report``, and gives the claims.
Pull = Callable[..., list[dict[str, Any]]]


def write_gates(*biz_types: BizType) -> None:
    """Does what a turn of the loader does."""
    for biz_type in biz_types:
        biz_type.refresh_from_db()
    bring_gates(biz_types, now=moment(redis_clock().now_ms()))


def make_job(**fields: Any) -> UUID:
    job_id: UUID = jobs.create("report", **fields).job_id
    return job_id
