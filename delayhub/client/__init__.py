"""Clients of the REST API, for programs without Django: ``Client``, and ``AsyncClient`` with the same verbs.

>>> from delayhub.client import Client
>>> with Client("https://delay.example", api_key="dh_…") as client:
...     job = client.jobs.create("order.close", biz_id="order-42", delay=1800, body={"order": 42})
"""

from delayhub.client.asynchronous.client import AsyncClient
from delayhub.client.errors import (
    ApiError,
    Conflict,
    FieldError,
    Forbidden,
    IdempotencyKeyTaken,
    InvalidRequest,
    NotConfigured,
    NotFound,
    PreconditionFailed,
    PreconditionRequired,
    Problem,
    RateLimited,
    ServerError,
    ServerUnavailable,
    SeveralJobs,
    Unauthorized,
    UnexpectedAnswer,
    Unreachable,
    WaitTimeout,
    WrongState,
)
from delayhub.client.models.biz_types import BizType
from delayhub.client.models.jobs import Attempt, BulkProblem, BulkResult, CreatedJob, Job, JobRequest, JobStatus
from delayhub.client.models.operations import JobFilter, Operation, OperationState, OperationVerb
from delayhub.client.request import JobKey
from delayhub.client.synchronous.client import Client

__all__ = [
    "ApiError",
    "AsyncClient",
    "Attempt",
    "BizType",
    "BulkProblem",
    "BulkResult",
    "Client",
    "Conflict",
    "CreatedJob",
    "FieldError",
    "Forbidden",
    "IdempotencyKeyTaken",
    "InvalidRequest",
    "Job",
    "JobFilter",
    "JobKey",
    "JobRequest",
    "JobStatus",
    "NotConfigured",
    "NotFound",
    "Operation",
    "OperationState",
    "OperationVerb",
    "PreconditionFailed",
    "PreconditionRequired",
    "Problem",
    "RateLimited",
    "ServerError",
    "ServerUnavailable",
    "SeveralJobs",
    "Unauthorized",
    "UnexpectedAnswer",
    "Unreachable",
    "WaitTimeout",
    "WrongState",
]
