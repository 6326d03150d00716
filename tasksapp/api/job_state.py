"""What state a job is in, as an ETag: another one after every change, by a verb or by a worker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zlib import crc32

from tasksapp.models import Job

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def job_etag(job: Job) -> str:
    """The ETag of a job that was read with its biz type."""
    return etag_of(job.version, job.status, job.updated_at, biz_type=job.biz_type.code)


def etag_of(version: int, status: str, updated_at: datetime, *, biz_type: str) -> str:
    """The ETag of a job with these values. Every write of its row moves ``updated_at``; a code can be renamed."""
    return f'"{version}-{status}-{(updated_at - _EPOCH) // _MICROSECOND:x}-{crc32(biz_type.encode()):x}"'
