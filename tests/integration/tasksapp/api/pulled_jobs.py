"""Jobs that are pulled, for tests of the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from tasksapp import jobs
from tasksapp.maintenance.gate_writer import GateWriter
from tasksapp.models import BizType
from tasksapp.pulling.puller import redis_clock

#: ``pull(**fields)`` claims jobs of the biz type ``report``, and gives the claims.
Pull = Callable[..., list[dict[str, Any]]]


def write_gates(*biz_types: BizType) -> None:
    """Does what a turn of the loader does."""
    for biz_type in biz_types:
        biz_type.refresh_from_db()
    GateWriter(clock=redis_clock()).run_once(biz_types, all_of_them=True)


def make_job(**fields: Any) -> UUID:
    job_id: UUID = jobs.create("report", **fields).job_id
    return job_id
