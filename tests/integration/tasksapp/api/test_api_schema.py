"""The API does what its OpenAPI schema says, whatever it is sent: generated requests, the same ones in every run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tasksapp.access.keys import issue_key
from tasksapp.jobs.creation import create
from tasksapp.models import ApiKey, BizType, Job, Operation, Series, Status
from tasksapp.pulling.puller import ClaimToken
from tasksapp.series.verbs import create as create_series
from tests.job_rows import store_job
from tests.property_sizes import examples

pytestmark = pytest.mark.django_db(transaction=True)

#: Not among them: ignored_auth, which takes a right key beside a wrong session for a fault. test_api_access.py tries
#: every operation with a dead key.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]
OPERATIONS = [
    ("GET", "/v1/jobs"),
    ("GET", "/v1/jobs/dead"),
    ("GET", "/v1/jobs/export"),
    ("POST", "/v1/jobs"),
    ("POST", "/v1/jobs/bulk"),
    ("GET", "/v1/jobs/{id}"),
    ("PATCH", "/v1/jobs/{id}"),
    ("GET", "/v1/jobs/{id}/attempts"),
    ("POST", "/v1/jobs/{id}/cancel"),
    ("POST", "/v1/jobs/{id}/drop"),
    ("POST", "/v1/jobs/{id}/redrive"),
    ("POST", "/v1/jobs/{id}/run"),
    ("POST", "/v1/jobs/{id}/run-again"),
    ("POST", "/v1/jobs/{id}/follow-up"),
    ("GET", "/v1/jobs/{id}/links"),
    ("POST", "/v1/jobs/{id}/links"),
    ("DELETE", "/v1/jobs/{id}/links/{number}"),
    ("POST", "/v1/resolve"),
    ("POST", "/v1/resolve/lift"),
    ("GET", "/v1/series"),
    ("POST", "/v1/series"),
    ("POST", "/v1/series/preview"),
    ("GET", "/v1/series/{id}"),
    ("PATCH", "/v1/series/{id}"),
    ("DELETE", "/v1/series/{id}"),
    ("POST", "/v1/series/{id}/pause"),
    ("POST", "/v1/series/{id}/resume"),
    ("POST", "/v1/series/{id}/trigger"),
    ("POST", "/v1/series/{id}/backfill"),
    ("POST", "/v1/claims"),
    ("POST", "/v1/claims/{token}/done"),
    ("POST", "/v1/claims/{token}/fail"),
    ("POST", "/v1/claims/{token}/extend"),
    ("POST", "/v1/claims/{token}/release"),
    ("GET", "/v1/operations"),
    ("POST", "/v1/operations"),
    ("GET", "/v1/operations/{id}"),
    ("POST", "/v1/operations/{id}/start"),
    ("POST", "/v1/operations/{id}/stop"),
    ("POST", "/v1/operations/{id}/pace"),
    ("POST", "/v1/operations/{id}/rest"),
    ("GET", "/v1/audit"),
    ("GET", "/v1/health"),
    ("GET", "/v1/issues"),
    ("GET", "/v1/stats"),
    ("GET", "/v1/stats/series"),
    ("GET", "/v1/biz-type-definitions"),
    ("PUT", "/v1/biz-type-definitions"),
    ("GET", "/v1/key"),
    ("GET", "/v1/keys"),
    ("POST", "/v1/keys"),
    ("GET", "/v1/keys/{id}"),
    ("PATCH", "/v1/keys/{id}"),
    ("DELETE", "/v1/keys/{id}"),
    ("POST", "/v1/keys/{id}/rotate"),
    ("POST", "/v1/keys/{id}/end-previous"),
    ("GET", "/v1/biz-types"),
    ("POST", "/v1/biz-types"),
    ("GET", "/v1/biz-types/{code}"),
    ("PATCH", "/v1/biz-types/{code}"),
    ("DELETE", "/v1/biz-types/{code}"),
    ("PUT", "/v1/biz-types/{code}/certificate"),
    ("PUT", "/v1/biz-types/{code}/credentials"),
    ("POST", "/v1/biz-types/{code}/end-rotation"),
    ("GET", "/v1/biz-types/{code}/key-pairs"),
    ("POST", "/v1/biz-types/{code}/key-pairs"),
    ("POST", "/v1/biz-types/{code}/key-pairs/end-rotation"),
    ("POST", "/v1/biz-types/{code}/key-pairs/retire"),
    ("POST", "/v1/biz-types/{code}/pause"),
    ("POST", "/v1/biz-types/{code}/resume"),
    ("POST", "/v1/biz-types/{code}/rotate"),
    ("POST", "/v1/biz-types/{code}/stop-signing"),
    ("POST", "/v1/biz-types/{code}/test"),
    ("GET", "/v1/biz-types/{code}/flow-keys"),
    ("POST", "/v1/biz-types/{code}/flow-keys/pause"),
    ("POST", "/v1/biz-types/{code}/flow-keys/resume"),
    ("GET", "/v1/biz-types/{code}/jobs/{biz_id}"),
    ("PATCH", "/v1/biz-types/{code}/jobs/{biz_id}"),
    ("POST", "/v1/biz-types/{code}/jobs/{biz_id}/cancel"),
    ("POST", "/v1/biz-types/{code}/jobs/{biz_id}/run"),
    ("POST", "/v1/biz-types/{code}/jobs/{biz_id}/redrive"),
    ("POST", "/v1/biz-types/{code}/jobs/{biz_id}/drop"),
]


_read: list[Any] = []


@pytest.fixture
def schema(full_key: str, biz_type: BizType, settings: Any) -> Any:
    """The schema, as a client reads it: once, since it is the same for all."""
    issue_key("another")
    settings.ALLOWED_HOSTS = ["*"]
    if not _read:
        # Words out of the code are no better requests, and finding them takes 3 s.
        config = SchemathesisConfig.from_dict({"analysis": {"constants": {"enabled": False}}})
        headers = {"Authorization": f"Bearer {full_key}"}
        app = get_wsgi_application()
        _read.append(schemathesis.openapi.from_wsgi("/api/schema", app, config=config, headers=headers))
    return _read[0]


def hold() -> ClaimToken:
    """The token of a job that is held from now on."""
    pulled, _ = BizType.objects.get_or_create(code="a.pull", target="pull")
    return ClaimToken(store_job(pulled, Status.RUNNING, lease_token=7).pk, 7)


def aim(case: Any, number: int, job: Job, operation: Operation) -> None:
    """Lets every second request name what is there, so that it comes further than to a refusal."""
    if number % 2:
        return
    if case.path_parameters:
        number_or_id: Any = operation.pk if "/operations/" in case.path else job.id
        if "/keys/" in case.path:
            number_or_id = ApiKey.objects.exclude(name="caller").values_list("id", flat=True).first() or 1
        if "/series/" in case.path:
            number_or_id = Series.objects.values_list("id", flat=True).first() or 1
        there = {"id": str(number_or_id), "code": "order.close", "biz_id": "there", "number": "1"}
        if "token" in case.path_parameters:
            there["token"] = str(hold())
        case.path_parameters = {name: there[name] for name in case.path_parameters}
    bodies = case.body.get("jobs", [case.body]) if isinstance(case.body, dict) else []
    if isinstance(case.body, dict) and isinstance(case.body.get("biz_types"), list) and "claims" in case.path:
        hold()
        create("a.pull")
        case.body["biz_types"] = ["a.pull"]
    for body in bodies if isinstance(bodies, list) else []:
        if isinstance(body, dict) and "biz_type" in body:
            body["biz_type"] = "order.close"


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_an_operation_answers_as_the_schema_says(
    schema: Any, key: str, method: str, path: str, redis_client: redis.Redis
) -> None:
    job = Job.objects.get(id=create("order.close", biz_id="there", delay=timedelta(hours=1)).job_id)
    planned = Operation.objects.create(verb="redrive", job_filter={}, state="planned", planned=1, started_by="ada")
    create_series("order.close", name="there", every=3600)
    operation = schema[path][method]
    sent = 0

    @given(case=operation.as_strategy())
    @settings(
        max_examples=examples(8),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: Any) -> None:
        nonlocal sent
        aim(case, sent, job, planned)
        sent += 1
        case.call_and_validate(headers={"Authorization": f"Bearer {key}"}, checks=CHECKS)
        Job.objects.filter(id=job.id).update(status=Status.DEAD if sent % 4 else Status.PENDING)
        Operation.objects.filter(id=planned.pk).update(state="planned" if sent % 4 else "running")

    check()
    assert sent >= 1


def test_every_operation_of_the_schema_is_tried(schema: Any) -> None:
    described = {(result.ok().method.upper(), result.ok().path) for result in schema.get_all_operations()}

    assert described == set(OPERATIONS)
