"""Values of the client's models, with what a test does not name filled in."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from delayhub.client import Attempt, BizType, Job
from delayhub.client.request import plain

_AT = datetime(2027, 1, 31, 8, 30, tzinfo=UTC)
_JOB = Job(
    id="01a1fcb9-e182-7773-bac4-bf777e5e56f2",
    biz_type="order.close",
    biz_id="order-42",
    debounce_key="",
    status="pending",
    due_at=_AT,
    next_run_at=_AT,
    expires_at=None,
    body={"order": 42},
    priority=5,
    flow_key="",
    attempts=0,
    max_attempts=None,
    series=None,
    occurrence_at=None,
    place=None,
    redrives=0,
    system_errors=0,
    version=1,
    last_error="",
    created_at=_AT,
    updated_at=_AT,
    finished_at=None,
)
_ATTEMPT = Attempt(
    number=1,
    started_at=_AT,
    duration_ms=10,
    lateness_ms=0,
    status_code=200,
    response_headers={},
    response_body="ok",
    error="",
    worker="w",
)
_BIZ_TYPE = BizType(
    code="order.close",
    name="Close an unpaid order",
    description="",
    enabled=True,
    target="http",
    method="POST",
    url="https://shop.example/hooks",
    url_hosts="",
    headers={},
    auth="none",
    token_url="",
    client_id="",
    token_fields={},
    ca_bundle="",
    task_name="",
    task_queue="",
    timeout_seconds=10.0,
    max_attempts=5,
    max_age_seconds=None,
    backoff="exponential",
    backoff_min_seconds=1.0,
    backoff_max_seconds=60.0,
    backoff_factor=2.0,
    backoff_max_doublings=None,
    backoff_list=[],
    jitter=0.1,
    permanent_status_codes=[],
    insert_rate=None,
    insert_burst=1,
    delivery_rate=None,
    delivery_burst=1,
    max_in_flight=None,
    key_rate=None,
    key_burst=1,
    key_max_in_flight=None,
    ordered="no",
    weight=1,
    priority=5,
    guarantee="at_least_once",
    max_lateness_seconds=None,
    when_late="fire",
    retention_seconds=None,
    encrypted=False,
    one_live="any",
    debounce_max_wait_seconds=None,
    on_success="",
    on_dead="",
    on_resolved="",
    owner_mail="",
    owner_url="",
    lane="delayhub.timers",
    masked_fields=[],
    paused_until=None,
    paused_by="",
    pause_reason="",
    resumed_at=None,
    signed=True,
    previous_secret_until=None,
    has_credentials=False,
    certificate_subject="",
    certificate_ends_at=None,
    created_at=_AT,
    updated_at=_AT,
    in_force=None,
)


def job_like(**changes: Any) -> Job:
    """A pending job with those fields."""
    return replace(_JOB, **changes)


def job_document(**changes: Any) -> dict[str, Any]:
    """A pending job with those fields, as the API answers with it."""
    return {**plain(asdict(_JOB)), **changes}


def attempt_document(**changes: Any) -> dict[str, Any]:
    """An attempt that was answered, with those fields, as the API answers with it."""
    return {**plain(asdict(_ATTEMPT)), **changes}


def biz_type_like(**changes: Any) -> BizType:
    """A biz type with those fields."""
    return replace(_BIZ_TYPE, **changes)
