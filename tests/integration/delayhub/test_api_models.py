"""The client knows each operation of the site's OpenAPI document, each parameter, and each field of its answers."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import httpx
import pytest

from delayhub import client
from delayhub.api_models import biz_types, operations, stats
from delayhub.api_models import jobs as job_models
from delayhub.client import Client
from delayhub.client.errors import ApiError
from delayhub.client.synchronous import connection
from tasksapp.api.openapi.document import openapi_document
from tasksapp.biz_types.sample_call import AddressVerdict, Verdict
from tasksapp.stats.delivery_health import DeliveryState
from tests.typescript_client import TypeScriptProcess, use_typescript

#: Which class stands for which schema of the document.
ANSWERS: Mapping[str, Any] = {
    "Job": client.Job,
    "CreatedJob": client.CreatedJob,
    "Resolution": client.Resolution,
    "Attempt": client.Attempt,
    "AnswerLink": client.AnswerLink,
    "NewAnswerLink": client.NewAnswerLink,
    "Claim": client.Claim,
    "EndedClaim": client.EndedClaim,
    "BulkAnswer": job_models.BulkAnswer,
    "BizType": client.BizType,
    "CreatedBizType": client.CreatedBizType,
    "RotatedSecret": client.RotatedSecret,
    "TestCall": client.TestCall,
    "SentRequest": client.TestRequest,
    "ReceivedAnswer": client.TestResponse,
    "BizTypeImport": client.BizTypeImport,
    "BizTypeChange": client.BizTypeChange,
    "ApiKey": client.ApiKey,
    "AuditEntry": client.AuditEntry,
    "Stats": client.Stats,
    "JobNumbers": client.Numbers,
    "BizTypeNumbers": client.BizTypeNumbers,
    "StatsSeries": client.Series,
    "StatsPoint": client.SeriesPoint,
    "Issue": client.Issue,
    "Health": client.Health,
    "NewApiKey": client.NewApiKey,
    "Operation": client.Operation,
    "JobSeries": client.JobSeries,
    "SchedulePreview": client.SchedulePreview,
    "TriggeredJob": client.Triggered,
    "FlowKey": client.FlowKey,
    "FlowKeys": client.FlowKeys,
    "PausedFlowKey": client.PausedFlowKey,
}
REQUESTS: Mapping[str, Any] = {
    "JobRequest": client.JobRequest,
    "ChangeJobRequest": client.JobChange,
    "JobFilter": client.JobFilter,
    "ChangeBizTypeRequest": client.BizTypeFields,
    "ChangeApiKeyRequest": client.ApiKeyFields,
    "ChangeSeriesRequest": client.JobSeriesFields,
    "PreviewScheduleRequest": client.ScheduleFields,
}
#: Parameters of verbs, beside the fields that they take as such a mapping.
OWN_FIELDS = {
    "ChangeJobRequest": {"version"},
    "ChangeBizTypeRequest": {"code"},
    "ChangeApiKeyRequest": {"version"},
    "ChangeSeriesRequest": {"version"},
    "PreviewScheduleRequest": {"most"},
}
DAY = timedelta(days=1)
AT = datetime(2027, 1, 31, tzinfo=UTC)
KEY = ("order.close", "order-42")
BY_KEY = "/v1/biz-types/{code}/jobs/{biz_id}"

QUERY: client.DeadJobQuery = {
    "biz_type": "order.close", "biz_id": "order-*", "error_class": "timeout", "ids": ["1"], "body": "42",
    "operation": 1, "flow_key": "customer-7", "due_from": AT, "due_until": AT, "next_from": AT, "next_until": AT,
    "created_from": AT, "created_until": AT, "ended_from": AT, "ended_until": AT,
    "series": 1, "occurrence_from": AT, "occurrence_until": AT,
}  # fmt: skip

#: Bodies are not looked through for an export.
EXPORTED = cast("client.ExportQuery", {name: value for name, value in QUERY.items() if name != "body"})
#: Each operation of the document, and a call of the client that asks for it with every parameter there is.
CALLS: Mapping[str, Callable[[Client], object]] = {
    "POST /v1/jobs": lambda api: api.jobs.create("order.close"),
    "POST /v1/jobs/bulk": lambda api: api.jobs.create_many([{"biz_type": "order.close"}]),
    "GET /v1/jobs": lambda api: list(api.jobs.list(page_size=10, status=["dead", "pending"], order="-id", **QUERY)),
    "GET /v1/jobs/dead": lambda api: list(api.jobs.dead(page_size=10, **QUERY)),
    "GET /v1/jobs/export": lambda api: list(api.jobs.export("csv", status=["dead"], order="-id", **EXPORTED)),
    "GET /v1/jobs/{id}": lambda api: api.jobs.read("1"),  # wait() says wait=, after this
    "PATCH /v1/jobs/{id}": lambda api: api.jobs.change("1", delay=1, version=1),
    "GET /v1/jobs/{id}/attempts": lambda api: list(api.jobs.attempts("1", page_size=10)),
    "POST /v1/jobs/{id}/cancel": lambda api: api.jobs.cancel("1", version=1),
    "POST /v1/jobs/{id}/run": lambda api: api.jobs.run_now("1", version=1),
    "POST /v1/jobs/{id}/run-again": lambda api: api.jobs.run_again("1", version=1),
    "POST /v1/jobs/{id}/follow-up": lambda api: api.jobs.follow_up("1", version=1),
    "POST /v1/jobs/{id}/redrive": lambda api: api.jobs.redrive("1", version=1),
    "POST /v1/jobs/{id}/drop": lambda api: api.jobs.drop("1", version=1),
    "GET /v1/jobs/{id}/links": lambda api: api.jobs.links("1"),
    "POST /v1/jobs/{id}/links": lambda api: api.jobs.make_link("1", given_to="eve", outcomes=["yes"]),
    "DELETE /v1/jobs/{id}/links/{number}": lambda api: api.jobs.withdraw_link("1", 7),
    "POST /v1/resolve": lambda api: api.jobs.resolve(["order.close"], "42"),
    "POST /v1/resolve/lift": lambda api: api.jobs.lift(["order.close"], "42"),
    "POST /v1/claims": lambda api: api.claims.claim(["report"], most=5, wait=5, lease=30),
    "POST /v1/claims/{token}/done": lambda api: api.claims.done("t", note="built"),
    "POST /v1/claims/{token}/fail": lambda api: api.claims.fail("t", reason="no", retry_in=timedelta(minutes=1)),
    "POST /v1/claims/{token}/extend": lambda api: api.claims.extend("t", lease=30),
    "POST /v1/claims/{token}/release": lambda api: api.claims.release("t", reason="closing"),
    f"GET {BY_KEY}": lambda api: api.jobs.read(KEY),
    f"PATCH {BY_KEY}": lambda api: api.jobs.change(KEY, due_at=AT),
    f"POST {BY_KEY}/cancel": lambda api: api.jobs.cancel(KEY),
    f"POST {BY_KEY}/run": lambda api: api.jobs.run_now(KEY),
    f"POST {BY_KEY}/redrive": lambda api: api.jobs.redrive(KEY),
    f"POST {BY_KEY}/drop": lambda api: api.jobs.drop(KEY),
    "GET /v1/biz-types": lambda api: api.biz_types.list(),
    "GET /v1/biz-types/{code}": lambda api: api.biz_types.read("order.close"),
    "POST /v1/biz-types": lambda api: api.biz_types.create("order.close", url="https://shop.example"),
    "PATCH /v1/biz-types/{code}": lambda api: api.biz_types.change("order.close", etag='"1"', max_attempts=5),
    "DELETE /v1/biz-types/{code}": lambda api: api.biz_types.delete("order.close"),
    "POST /v1/biz-types/{code}/pause": lambda api: api.biz_types.pause("order.close", reason="down", until=AT),
    "POST /v1/biz-types/{code}/resume": lambda api: api.biz_types.resume("order.close"),
    "POST /v1/biz-types/{code}/rotate": lambda api: api.biz_types.rotate_secret("order.close"),
    "POST /v1/biz-types/{code}/end-rotation": lambda api: api.biz_types.end_rotation("order.close"),
    "POST /v1/biz-types/{code}/stop-signing": lambda api: api.biz_types.stop_signing("order.close"),
    "GET /v1/biz-types/{code}/key-pairs": lambda api: api.biz_types.key_pairs("order.close"),
    "POST /v1/biz-types/{code}/key-pairs": lambda api: api.biz_types.make_key_pair(
        "order.close", overlap=timedelta(days=1)
    ),
    "POST /v1/biz-types/{code}/key-pairs/end-rotation": lambda api: api.biz_types.end_key_rotation("order.close"),
    "POST /v1/biz-types/{code}/key-pairs/retire": lambda api: api.biz_types.retire_key_pairs("order.close"),
    "PUT /v1/biz-types/{code}/credentials": lambda api: api.biz_types.set_credentials("order.close", "none"),
    "PUT /v1/biz-types/{code}/certificate": lambda api: api.biz_types.set_certificate("order.close"),
    "POST /v1/biz-types/{code}/test": lambda api: api.biz_types.test("order.close", body={"order": 42}),
    "GET /v1/biz-types/{code}/flow-keys": lambda api: api.biz_types.flow_keys("order.close", flow_key="customer-7"),
    "POST /v1/biz-types/{code}/flow-keys/pause": lambda api: api.biz_types.pause_flow_key(
        "order.close", "customer-7", reason="down", until=AT
    ),
    "POST /v1/biz-types/{code}/flow-keys/resume": lambda api: api.biz_types.resume_flow_key(
        "order.close", "customer-7", reason="up"
    ),
    "GET /v1/biz-type-definitions": lambda api: api.biz_types.export(),
    "PUT /v1/biz-type-definitions": lambda api: api.biz_types.import_document({"version": 1}, dry_run=True),
    "GET /v1/key": lambda api: api.keys.own(),
    "GET /v1/keys": lambda api: list(api.keys.list(name="checkout", enabled=True, page_size=10)),
    "POST /v1/keys": lambda api: api.keys.create("checkout", scopes=["jobs:read"]),
    "GET /v1/keys/{id}": lambda api: api.keys.read(1),
    "PATCH /v1/keys/{id}": lambda api: api.keys.change(1, expires_at=None, version=1),
    "DELETE /v1/keys/{id}": lambda api: api.keys.revoke(1),
    "POST /v1/keys/{id}/rotate": lambda api: api.keys.rotate(1, overlap=60),
    "POST /v1/keys/{id}/end-previous": lambda api: api.keys.end_previous(1),
    "GET /v1/series": lambda api: list(
        api.series.list(biz_type="order.close", name="morning", paused=False, page_size=10)
    ),
    "POST /v1/series": lambda api: api.series.create("order.close", name="morning", cron="0 9 * * *"),
    "POST /v1/series/preview": lambda api: api.series.preview(every=60, most=3),
    "GET /v1/series/{id}": lambda api: api.series.read(1),
    "PATCH /v1/series/{id}": lambda api: api.series.change(1, version=1, every=timedelta(minutes=5)),
    "DELETE /v1/series/{id}": lambda api: api.series.delete(1),
    "POST /v1/series/{id}/pause": lambda api: api.series.pause(1, reason="holidays"),
    "POST /v1/series/{id}/resume": lambda api: api.series.resume(1),
    "POST /v1/series/{id}/trigger": lambda api: api.series.trigger(1),
    "POST /v1/series/{id}/backfill": lambda api: api.series.backfill(1, since=AT, until=AT, reason="new"),
    "POST /v1/operations": lambda api: api.operations.plan("redrive", jobs={"status": "dead"}),
    "GET /v1/stats": lambda api: api.stats.read(biz_type="order.close"),
    "GET /v1/stats/series": lambda api: api.stats.series(
        biz_type="order.close", since=AT, until=AT, step=timedelta(minutes=5)
    ),
    "GET /v1/issues": lambda api: api.stats.issues(biz_type="order.close"),
    "GET /v1/health": lambda api: api.stats.health(),
    "GET /v1/audit": lambda api: list(
        api.audit.list(
            actor="ada", verb="cancel", biz_type="order.close", job="1", operation=1, since=AT, until=AT, page_size=10
        )
    ),
    "GET /v1/operations": lambda api: list(
        api.operations.list(state="running", verb="redrive", biz_type="order.close", page_size=10)
    ),
    "GET /v1/operations/{id}": lambda api: api.operations.read(1),
    "POST /v1/operations/{id}/start": lambda api: api.operations.start(1, rate_per_second=5),
    "POST /v1/operations/{id}/stop": lambda api: api.operations.stop(1),
    "POST /v1/operations/{id}/rest": lambda api: api.operations.rest(1),
    "POST /v1/operations/{id}/pace": lambda api: api.operations.pace(1, rate_per_second=None),
}
#: Parameters that no caller gives: the client follows pages, and waits by itself.
OWN_PARAMETERS = {"cursor", "wait"}


@cache
def document() -> dict[str, Any]:
    return openapi_document(prefix="/api")


def operation(name: str) -> dict[str, Any]:
    method, path = name.split(" ")
    found: dict[str, Any] = document()["paths"][path][method.lower()]
    return found


def asked(call: Callable[[Client], object], *, status: int = 400) -> list[httpx.Request]:
    """The requests that a call sends where each is answered with that status."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(status)

    with Client("http://site.example", api_key="k", transport=httpx.MockTransport(answer)) as api:
        with pytest.raises(ApiError):
            call(api)
    return requests


def test_the_client_has_a_verb_for_each_operation_of_the_document() -> None:
    documented = {f"{method.upper()} {path}" for path, methods in document()["paths"].items() for method in methods}

    assert documented == set(CALLS)


@pytest.mark.usefixtures("over")
@pytest.mark.parametrize("name", CALLS)
def test_each_verb_asks_where_the_document_says(name: str) -> None:
    request = asked(CALLS[name])[0]

    method, path = name.split(" ")
    parts = request.url.raw_path.decode().partition("?")[0].removeprefix("/api").split("/")
    wanted = path.split("/")
    assert request.method == method
    assert len(parts) == len(wanted)
    assert all(part == want or want.startswith("{") for part, want in zip(parts, wanted, strict=True))
    described = [entry for entry in operation(name).get("parameters", ()) if entry["in"] == "query"]
    parameters = {entry["name"] for entry in described}
    assert set(request.url.params) <= parameters
    assert parameters - set(request.url.params) <= OWN_PARAMETERS


@pytest.mark.parametrize("name", CALLS)
def test_the_typescript_client_repeats_what_this_one_does(
    name: str, typescript: TypeScriptProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection.time, "sleep", lambda _: None)
    here = asked(CALLS[name], status=502)

    use_typescript(typescript, monkeypatch)

    there = asked(CALLS[name], status=502)
    of_both = [[(sent.method, sent.url.path, sent.url.params.multi_items()) for sent in each] for each in (here, there)]
    assert of_both[0] == of_both[1]


@pytest.mark.parametrize("name", ANSWERS)
def test_each_model_has_the_fields_of_its_schema(name: str) -> None:
    schema = document()["components"]["schemas"][name]
    hints = get_type_hints(ANSWERS[name])

    # An ETag is a header.
    assert {field.name for field in fields(ANSWERS[name])} - {"etag"} == set(schema["properties"])
    for field, described in schema["properties"].items():
        assert fits(hints[field], described), f"{name}.{field}: {hints[field]}, {described}"


@pytest.mark.parametrize("name", REQUESTS)
def test_each_request_has_the_fields_of_its_schema(name: str) -> None:
    described = set(document()["components"]["schemas"][name]["properties"])
    if "body_base64" in described:
        described = described - {"body_text", "body_base64"} | {"raw"}  # bytes are bytes in Python
    assert set(get_type_hints(REQUESTS[name])) == described - OWN_FIELDS.get(name, set())


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (biz_types.Verdict, Verdict),
        (biz_types.AddressVerdict, AddressVerdict),
        (stats.HealthState, DeliveryState),
        (operations.TrialState, ("running", "passed", "failed")),
    ],
)
def test_a_word_of_an_answer_is_one_of_the_site_s(words: Any, values: Iterable[str]) -> None:
    assert list(get_args(words)) == [getattr(each, "value", each) for each in values]


def fits(annotation: Any, described: Mapping[str, Any]) -> bool:
    """Whether values that the schema describes are values of the annotation."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        assert type(None) in inner
        (given,) = [kind for kind in inner if kind is not type(None)]
        return may_be_null(described) and fits(given, without_null(described))
    if annotation is Any:
        return True
    if may_be_null(described):
        return False
    described = resolved(described)
    match described.get("type"):
        case "string" if described.get("format") == "date-time":
            return annotation is datetime
        case "string" if "enum" in described:
            return origin is Literal and set(inner) == set(described["enum"])
        case "string":
            return annotation is str
        case "integer":
            return annotation is int
        case "number":
            return annotation is float
        case "boolean":
            return annotation is bool
        case "array":
            return origin is Sequence and (is_dataclass(inner[0]) or fits(inner[0], described["items"]))
        case "object":
            return origin is Mapping or is_dataclass(annotation)
    return False


def may_be_null(described: Mapping[str, Any]) -> bool:
    kinds = described.get("type")
    several = described.get("oneOf") or described.get("anyOf") or []
    return (
        bool(described.get("nullable"))
        or (isinstance(kinds, list) and "null" in kinds)
        or any(is_null(option) for option in several)
    )


def is_null(described: Mapping[str, Any]) -> bool:
    described = resolved(described)
    return described.get("type") == "null" or described.get("enum") == [None]


def without_null(described: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same schema for values other than null."""
    for several in (described.get("oneOf"), described.get("anyOf")):
        if several:
            (described,) = [option for option in several if not is_null(option)]
    described = {name: value for name, value in resolved(described).items() if name != "nullable"}
    if isinstance(described.get("type"), list):
        (described["type"],) = [kind for kind in described["type"] if kind != "null"]
    if "enum" in described:
        described["enum"] = [value for value in described["enum"] if value is not None]
    return described


def resolved(described: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that it refers to, or itself."""
    if len(described.get("allOf", ())) == 1:
        return resolved(described["allOf"][0])
    if "$ref" not in described:
        return described
    found: Mapping[str, Any] = document()["components"]["schemas"][described["$ref"].rpartition("/")[2]]
    return found
