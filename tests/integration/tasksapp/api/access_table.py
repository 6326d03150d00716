"""What each operation of the API takes: the table that the walks of ``test_api_access`` read.

A new operation needs a line here: its scope, a request that is valid, and how it refuses what a caller may not see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from tasksapp.access.keys import issue_key
from tasksapp.models import AnswerLink, Attempt, AuditEntry, BizType, Job, Operation, Series, Status
from tasksapp.models.api_key import Scope
from tasksapp.pulling.puller import ClaimToken
from tests.job_rows import store_job

#: Stands in every text of a place that a caller may not see.
UNSEEN = "xenon"


@dataclass(frozen=True)
class Place:
    """A biz type of some tenant, with a row of each kind that operations are about."""

    biz_type: BizType
    pending: Job
    dead: Job
    key_id: int
    planned: int
    running: int
    stopped: int
    token: str
    series: int
    link: int

    @property
    def code(self) -> str:
        return self.biz_type.code


def store_place(code: str, *, tenant_id: int, name: str) -> Place:
    """A place, stored; ``name`` is in each text of it."""
    biz_type = BizType.objects.create(
        code=code, name=name, url="http://127.0.0.1:9/", tenant_id=tenant_id, description=name, owner_mail=""
    )
    biz_type.signing_secret = "whsec_" + "b2xkIG9s" * 4
    biz_type.save()
    now = timezone.now()
    pending = store_job(biz_type, biz_id=f"{name}-pending", created_by=name)
    dead = store_job(
        biz_type, Status.DEAD, due_in=-timedelta(hours=1), biz_id=f"{name}-dead", attempts=1, error_class="http.503",
        last_error=name, finished_at=now - timedelta(minutes=1),
    )  # fmt: skip
    Attempt.objects.create(job_id=dead.pk, number=1, started_at=now, duration_ms=3, lateness_ms=1, error=name)
    AuditEntry.objects.create(at=now, actor=name, verb="cancel", what=name, biz_type_id=biz_type.pk, job_id=dead.pk)
    operations = [
        Operation.objects.create(
            verb="redrive", job_filter={"biz_type": code}, biz_type=biz_type, tenant_id=tenant_id, state=state,
            planned=1, left=1, reason=name, started_by=name, planned_at=now,
        ).pk
        for state in ("planned", "running", "stopped")
    ]  # fmt: skip
    pulled = BizType.objects.create(code=f"{code}.pulled", name=name, target="pull", tenant_id=tenant_id)
    held = store_job(
        pulled,
        Status.RUNNING,
        biz_id=f"{name}-held",
        lease_token=7,
        lease_until=now + timedelta(minutes=1),
        worker=name,
    )
    key = issue_key(f"{name} key", tenant_id=tenant_id, biz_type_ids=[biz_type.pk], scopes=["keys"]).row
    series = Series.objects.create(
        biz_type=biz_type, name=name, cron="0 0 1 1 *", biz_id=name, created_at=now, updated_at=now
    )
    link = AnswerLink.objects.create(
        biz_type=biz_type, job_id=pending.pk, hashed_token=name, outcomes=["yes"], given_to=name, expires_at=now,
        created_at=now,
    )  # fmt: skip
    return Place(biz_type, pending, dead, key.pk, *operations, str(ClaimToken(held.pk, 7)), series.pk, link.pk)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What an operation takes.

    Args:
        scope: the one scope that lets a caller do it; None: a key without any may.
        body: the JSON of a valid request about a place.
        status: of the job that the address names.
        operation: the state of the operation that the address names.
        unseen: the status for a place that the caller may not see; None where the answer leaves it out.
        limited: the same for a key that is limited to biz types, where that is another one.
        done: the status where the caller may.
        headers: what the request needs.
    """

    scope: Scope | None
    body: Callable[[Place], Any] | None = None
    status: str = "pending"
    operation: str = "planned"
    unseen: int | None = 404
    limited: int | None = -1
    done: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def path(self, template: str, place: Place) -> str:
        """The address of the operation, about that place."""
        job = place.dead if self.status == "dead" else place.pending
        id_: Any = job.pk
        if "/keys/" in template:
            id_ = place.key_id
        if "/series/" in template:
            id_ = place.series
        if "/operations/" in template:
            id_ = getattr(place, self.operation)
        named = {"code": place.code, "biz_id": job.biz_id, "id": id_, "token": place.token, "number": place.link}
        for name, value in named.items():
            template = template.replace(f"{{{name}}}", str(value))
        return template

    def unseen_by(self, limited: bool) -> int | None:
        """The status where the caller may not see the place."""
        return self.limited if limited and self.limited != -1 else self.unseen


def _job(place: Place) -> dict[str, Any]:
    return {"biz_type": place.code, "biz_id": "new", "delay": 60}


def _resolved(place: Place) -> dict[str, Any]:
    return {"biz_types": [place.code], "biz_id": place.pending.biz_id}


def _nothing(place: Place) -> dict[str, Any]:
    return {}


READ, WRITE, ACT = Scope.JOBS_READ, Scope.JOBS_WRITE, Scope.JOBS_ACT
PULL = Scope.JOBS_PULL
BIZ_READ, BIZ_WRITE, KEYS, STATS = Scope.BIZ_TYPES_READ, Scope.BIZ_TYPES_WRITE, Scope.KEYS, Scope.STATS

#: A list, or numbers: what may not be seen is not in it.
LEFT_OUT = None

TABLE: dict[tuple[str, str], Entry] = {
    # jobs
    ("GET", "/v1/jobs"): Entry(scope=READ, unseen=LEFT_OUT),
    ("POST", "/v1/jobs"): Entry(scope=WRITE, body=_job, unseen=400, done=201),
    ("POST", "/v1/jobs/bulk"): Entry(scope=WRITE, body=lambda place: {"jobs": [_job(place)]}, unseen=207, done=201),
    ("GET", "/v1/jobs/dead"): Entry(scope=READ, unseen=LEFT_OUT),
    ("GET", "/v1/jobs/export"): Entry(scope=Scope.JOBS_EXPORT, unseen=LEFT_OUT),
    ("GET", "/v1/jobs/{id}"): Entry(scope=READ),
    ("PATCH", "/v1/jobs/{id}"): Entry(scope=WRITE, body=lambda _: {"delay": 90}),
    ("GET", "/v1/jobs/{id}/attempts"): Entry(scope=READ, status="dead"),
    ("POST", "/v1/jobs/{id}/cancel"): Entry(scope=WRITE, body=_nothing),
    ("POST", "/v1/jobs/{id}/run"): Entry(scope=ACT, body=_nothing),
    ("POST", "/v1/jobs/{id}/run-again"): Entry(scope=ACT, body=_nothing, done=409),  # it has not succeeded
    ("POST", "/v1/jobs/{id}/follow-up"): Entry(scope=ACT, body=_nothing, done=400),  # nothing is missing
    ("POST", "/v1/jobs/{id}/redrive"): Entry(scope=ACT, body=_nothing, status="dead"),
    ("POST", "/v1/jobs/{id}/drop"): Entry(scope=ACT, body=_nothing, status="dead"),
    ("GET", "/v1/jobs/{id}/links"): Entry(scope=Scope.JOBS_LINK),
    # The job waits for no answer.
    ("POST", "/v1/jobs/{id}/links"): Entry(
        scope=Scope.JOBS_LINK, body=lambda _: {"given_to": "eve", "outcomes": ["yes"]}, done=400
    ),
    ("DELETE", "/v1/jobs/{id}/links/{number}"): Entry(scope=Scope.JOBS_LINK, done=204),
    # jobs by their business keys
    ("GET", "/v1/biz-types/{code}/jobs/{biz_id}"): Entry(scope=READ),
    ("PATCH", "/v1/biz-types/{code}/jobs/{biz_id}"): Entry(scope=WRITE, body=lambda _: {"delay": 90}),
    ("POST", "/v1/biz-types/{code}/jobs/{biz_id}/cancel"): Entry(scope=WRITE, body=_nothing),
    ("POST", "/v1/biz-types/{code}/jobs/{biz_id}/run"): Entry(scope=ACT, body=_nothing),
    ("POST", "/v1/biz-types/{code}/jobs/{biz_id}/redrive"): Entry(scope=ACT, body=_nothing, status="dead"),
    ("POST", "/v1/biz-types/{code}/jobs/{biz_id}/drop"): Entry(scope=ACT, body=_nothing, status="dead"),
    # claims
    ("POST", "/v1/claims"): Entry(scope=PULL, body=lambda place: {"biz_types": [f"{place.code}.pulled"]}, unseen=400),
    ("POST", "/v1/claims/{token}/done"): Entry(scope=PULL, body=_nothing),
    ("POST", "/v1/claims/{token}/fail"): Entry(scope=PULL, body=_nothing),
    ("POST", "/v1/claims/{token}/extend"): Entry(scope=PULL, body=_nothing),
    ("POST", "/v1/claims/{token}/release"): Entry(scope=PULL, body=_nothing),
    # all jobs of one business key
    # 202: a test's transaction is not committed before the answer, and only after that jobs are cancelled.
    ("POST", "/v1/resolve"): Entry(scope=WRITE, body=_resolved, unseen=400, done=202),
    ("POST", "/v1/resolve/lift"): Entry(scope=WRITE, body=_resolved, unseen=400),
    # operations
    ("GET", "/v1/operations"): Entry(scope=READ, unseen=LEFT_OUT),
    ("POST", "/v1/operations"): Entry(
        scope=ACT, body=lambda place: {"verb": "redrive", "filter": {"biz_type": place.code}}, unseen=400, done=201
    ),
    ("GET", "/v1/operations/{id}"): Entry(scope=READ),
    ("POST", "/v1/operations/{id}/start"): Entry(scope=ACT, body=_nothing),
    ("POST", "/v1/operations/{id}/stop"): Entry(scope=ACT, body=_nothing, operation="running"),
    ("POST", "/v1/operations/{id}/pace"): Entry(
        scope=ACT, body=lambda _: {"rate_per_second": 20}, operation="running"
    ),
    ("POST", "/v1/operations/{id}/rest"): Entry(scope=ACT, body=_nothing, operation="stopped", done=201),
    # series
    ("GET", "/v1/series"): Entry(scope=READ, unseen=LEFT_OUT),
    ("POST", "/v1/series"): Entry(
        scope=WRITE, body=lambda place: {"biz_type": place.code, "name": "new", "every": 3600}, unseen=400, done=201
    ),
    ("POST", "/v1/series/preview"): Entry(scope=READ, body=lambda _: {"every": 3600}, unseen=LEFT_OUT),
    ("GET", "/v1/series/{id}"): Entry(scope=READ),
    ("PATCH", "/v1/series/{id}"): Entry(scope=WRITE, body=lambda _: {"priority": 1}),
    ("DELETE", "/v1/series/{id}"): Entry(scope=WRITE, done=204),
    ("POST", "/v1/series/{id}/pause"): Entry(scope=WRITE, body=lambda _: {"reason": "db move"}),
    ("POST", "/v1/series/{id}/resume"): Entry(scope=WRITE, body=_nothing),
    ("POST", "/v1/series/{id}/trigger"): Entry(scope=WRITE, body=_nothing, done=201),
    ("POST", "/v1/series/{id}/backfill"): Entry(scope=ACT, body=lambda _: {"since": "2026-01-01T00:00:00Z"}, done=201),
    # biz types
    ("GET", "/v1/biz-types"): Entry(scope=BIZ_READ, unseen=LEFT_OUT),
    # A code is the tenant's own: the same one may be used in each.
    ("POST", "/v1/biz-types"): Entry(
        scope=BIZ_WRITE, body=lambda place: {"code": f"{place.code}.new", "url": "http://127.0.0.1:9/"},
        unseen=201, limited=403, done=201,
    ),
    ("GET", "/v1/biz-types/{code}"): Entry(scope=BIZ_READ),
    ("PATCH", "/v1/biz-types/{code}"): Entry(
        scope=BIZ_WRITE, body=lambda _: {"max_attempts": 3}, headers={"if-match": "*"}
    ),
    # It has jobs.
    ("DELETE", "/v1/biz-types/{code}"): Entry(scope=BIZ_WRITE, done=409),
    ("PUT", "/v1/biz-types/{code}/credentials"): Entry(
        scope=BIZ_WRITE, body=lambda _: {"auth": "bearer", "auth_secret": "a-token"}
    ),
    ("PUT", "/v1/biz-types/{code}/certificate"): Entry(scope=BIZ_WRITE, body=_nothing),
    ("POST", "/v1/biz-types/{code}/rotate"): Entry(scope=BIZ_WRITE, body=_nothing),
    ("POST", "/v1/biz-types/{code}/end-rotation"): Entry(scope=BIZ_WRITE),
    ("POST", "/v1/biz-types/{code}/stop-signing"): Entry(scope=BIZ_WRITE),
    ("GET", "/v1/biz-types/{code}/key-pairs"): Entry(scope=BIZ_READ),
    ("POST", "/v1/biz-types/{code}/key-pairs"): Entry(scope=BIZ_WRITE, body=_nothing),
    ("POST", "/v1/biz-types/{code}/key-pairs/end-rotation"): Entry(scope=BIZ_WRITE),
    ("POST", "/v1/biz-types/{code}/key-pairs/retire"): Entry(scope=BIZ_WRITE),
    ("POST", "/v1/biz-types/{code}/pause"): Entry(scope=BIZ_WRITE, body=lambda _: {"reason": "db move"}),
    ("POST", "/v1/biz-types/{code}/resume"): Entry(scope=BIZ_WRITE, body=_nothing),
    ("GET", "/v1/biz-types/{code}/flow-keys"): Entry(scope=BIZ_READ),
    ("POST", "/v1/biz-types/{code}/flow-keys/pause"): Entry(
        scope=BIZ_WRITE, body=lambda _: {"flow_key": "customer-7", "reason": "db move"}
    ),
    ("POST", "/v1/biz-types/{code}/flow-keys/resume"): Entry(
        scope=BIZ_WRITE, body=lambda _: {"flow_key": "customer-7"}
    ),
    ("POST", "/v1/biz-types/{code}/test"): Entry(scope=BIZ_WRITE, body=_nothing),
    ("GET", "/v1/biz-type-definitions"): Entry(scope=BIZ_WRITE, unseen=LEFT_OUT),
    ("PUT", "/v1/biz-type-definitions"): Entry(
        scope=BIZ_WRITE,
        body=lambda place: {"version": 1, "biz_types": [{"code": place.code, "url": "http://127.0.0.1:9/"}]},
        unseen=200, limited=403,
    ),
    # keys
    ("GET", "/v1/keys"): Entry(scope=KEYS, unseen=LEFT_OUT),
    ("POST", "/v1/keys"): Entry(
        scope=KEYS, body=lambda place: {"name": "new", "scopes": ["keys"], "biz_types": [place.code]},
        unseen=400, done=201,
    ),
    ("GET", "/v1/key"): Entry(scope=None, unseen=LEFT_OUT),
    ("GET", "/v1/keys/{id}"): Entry(scope=KEYS),
    ("PATCH", "/v1/keys/{id}"): Entry(scope=KEYS, body=lambda _: {"enabled": False}),
    ("POST", "/v1/keys/{id}/rotate"): Entry(scope=KEYS, body=_nothing),
    ("POST", "/v1/keys/{id}/end-previous"): Entry(scope=KEYS, body=_nothing),
    ("DELETE", "/v1/keys/{id}"): Entry(scope=KEYS, done=204),
    # numbers and records
    ("GET", "/v1/stats"): Entry(scope=STATS, unseen=LEFT_OUT),
    ("GET", "/v1/stats/series"): Entry(scope=STATS, unseen=LEFT_OUT),
    ("GET", "/v1/issues"): Entry(scope=STATS, unseen=LEFT_OUT),
    ("GET", "/v1/audit"): Entry(scope=STATS, unseen=LEFT_OUT),
    ("GET", "/v1/health"): Entry(scope=STATS, unseen=LEFT_OUT),
}  # fmt: skip
