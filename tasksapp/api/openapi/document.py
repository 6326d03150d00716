"""The OpenAPI document of the API: its own operations and no others of the project that includes it."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any, NamedTuple, get_args

from django.utils.translation import override
from drf_spectacular import plumbing
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import SPECTACULAR_DEFAULTS, patched_settings

import delayhub
from delayhub.api_models.biz_types import ImportAction
from delayhub.api_models.claims import ClaimOutcome
from delayhub.api_models.operations import TrialState
from tasksapp.api.addresses import operations
from tasksapp.api.http.problem_schema import PROBLEM
from tasksapp.api.http.problems import MEDIA_TYPE as PROBLEM_TYPE
from tasksapp.api.openapi.callback import WEBHOOKS
from tasksapp.biz_types.sample_call import AddressVerdict
from tasksapp.stats.delivery_health import DeliveryState

DESCRIPTION = """\
Create a job now; its callback is sent when it is due.

**Callers** send an API key: `Authorization: Bearer dh_…`. A key has scopes; each operation names the one that it takes,
and answers 403 (`scope_missing`) without it. What belongs to another tenant, or to a biz type that the key is not for,
is answered as if it did not exist: 404.

**Errors** are problem documents (RFC 9457): `code` is for machines, `detail` for people, `errors` names each field, and
`type` is the address of a page that says what to do.

**Lists** come in pages; `next` is the address of the following one, or null. **Times** are ISO 8601 with a time zone.

**Receivers** find what is sent to them, and what they may answer, under *Webhooks*.
"""

LICENSE = {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"}
CONTACT = {"name": "DelayHub", "url": "https://github.com/delayhub/delayhub"}

#: By the tag, what its operations are about.
_TAGS = {
    "Jobs": "What is to happen, when, and how it went.",
    "Claims": "Jobs that are pulled: taken by their receivers, instead of sent to them.",
    "Series": "Jobs that repeat: when, from when until when, and with what.",
    "Operations": "One verb for all jobs that match a filter: planned, paced, stopped.",
    "Biz types": "Kinds of jobs: where they go, how often they are tried, how fast, and with which secrets.",
    "API keys": "Who may call this API, and what they may do.",
    "Numbers": "Counts, series, issues, and whether jobs are delivered.",
    "Audit": "Who did what.",
    "Callbacks": "What DelayHub sends to receivers.",
}
TAGS: list[dict[str, Any]] = [{"name": name, "description": description} for name, description in _TAGS.items()]

_TAG_OF = {
    "jobs": "Jobs",
    "claims": "Claims",
    "operations": "Operations",
    "series": "Series",
    "biz-types": "Biz types",
    "biz-type-definitions": "Biz types",
    "keys": "API keys",
    "audit": "Audit",
}


def tag_of(path: str) -> str:
    """The tag of an operation, by its path below the version: ``/v1/jobs/{id}`` is one of Jobs."""
    _, _, first, *rest = path.split("/")
    # A job by its business key is a job, wherever its address begins.
    return "Jobs" if rest[1:2] == ["jobs"] else _TAG_OF.get(first, "Numbers")


#: drf-spectacular's settings for this document. The project's are for its own: hooks that rename fields or leave
#: operations out would make this one wrong.
_SETTINGS: dict[str, Any] = {
    **{
        name: value
        for name, value in SPECTACULAR_DEFAULTS.items()
        if not name.startswith("SERVE_") and name != "DEFAULT_GENERATOR_CLASS"  # these cannot be replaced, nor count
    },
    "TITLE": "DelayHub",
    "DESCRIPTION": DESCRIPTION,
    "LICENSE": LICENSE,
    "CONTACT": CONTACT,
    "OAS_VERSION": "3.1.1",
    # The others are named after the one field that has them.
    "ENUM_NAME_OVERRIDES": {
        "OperationState": "tasksapp.models.Operation.State",
        "OperationVerb": "tasksapp.models.Operation.VerbName",
        "JobStatus": "tasksapp.models.Status",
        "Scope": "tasksapp.models.api_key.Scope",
        "HealthState": [state.value for state in DeliveryState],
        "AddressVerdict": [verdict.value for verdict in AddressVerdict],
        "ClaimOutcome": get_args(ClaimOutcome),
        "ImportAction": get_args(ImportAction),
        "TrialState": get_args(TrialState),
    },
    "ENUM_SUFFIX": "",
    "VERSION": delayhub.__version__,
    "COMPONENT_SPLIT_PATCH": False,
    # What names and groups of operations leave out.
    "SCHEMA_PATH_PREFIX": "^/v1",
}
_lock = Lock()


def openapi_document(*, prefix: str) -> dict[str, Any]:
    """The document for an API whose addresses begin with that prefix, which is '' or like ``/api``."""
    with _lock:
        document = _document()
    return {**document, "servers": [{"url": prefix or "/", "description": "This site"}]}


@cache
def _document() -> dict[str, Any]:
    # Once for each process: it takes some 100 ms, and meanwhile replaces settings that are global in drf-spectacular.
    # What drf-spectacular complains of are the project's own authentication classes, which it may not know.
    # It keeps the names of enums by the language alone: the project's and ours would become each other's.
    plumbing._load_enum_name_overrides.cache_clear()
    with patched_settings(_SETTINGS), GENERATOR_STATS.silence(), override("en"):
        generator: Any = SchemaGenerator(patterns=operations)  # type: ignore[no-untyped-call]  # it has no types
        document: dict[str, Any] = generator.get_schema(public=True)
    plumbing._load_enum_name_overrides.cache_clear()
    return _finished(document)


def _finished(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what drf-spectacular leaves to others: groups, links, examples, webhooks."""
    document = modernised(document)
    schemas = with_examples({**document["components"]["schemas"], "Problem": PROBLEM})
    schemas.pop("Null", None)  # it is written out where it may be
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    found = operations_of(document)
    for path, operation in found.values():
        operation["tags"] = [tag_of(path)]
        add_media_examples(operation, schemas)
    add_links({name: operation for name, (_, operation) in found.items()})
    return {**document, "tags": TAGS, "webhooks": WEBHOOKS}


class _Links(NamedTuple):
    """From the answers of one operation to others.

    Args:
        source: the operation whose answers they are.
        statuses: of the answers.
        parameters: by the targets' parameter, where its value is.
        targets: the operations that they lead to.
    """

    source: str
    statuses: tuple[str, ...]
    parameters: dict[str, str]
    targets: str


_ID, _CODE = {"id": "$response.body#/id"}, {"code": "$response.body#/code"}
_CHANGES_OF_JOBS = "list_job_attempts change_job cancel_job run_job_now redrive_job drop_job"
_LINKS = [
    _Links("create_job", ("200", "201"), _ID, f"read_job {_CHANGES_OF_JOBS}"),
    _Links("create_job", ("201",), {"code": "$response.body#/biz_type"}, "read_biz_type"),
    _Links("read_job", ("200",), _ID, _CHANGES_OF_JOBS),
    _Links(
        "create_biz_type",
        ("201",),
        _CODE,
        "read_biz_type change_biz_type pause_biz_type resume_biz_type rotate_signing_secret set_credentials"
        " delete_biz_type",
    ),
    _Links(
        "plan_operation",
        ("201",),
        _ID,
        "read_operation start_operation pace_operation stop_operation plan_rest_of_operation",
    ),
    _Links(
        "create_series",
        ("201",),
        _ID,
        "read_series change_series pause_series resume_series trigger_series delete_series",
    ),
    _Links(
        "issue_api_key",
        ("201",),
        _ID,
        "read_api_key change_api_key rotate_api_key end_previous_api_key revoke_api_key",
    ),
]


def add_links(operations: dict[str, dict[str, Any]]) -> None:
    """Adds the links to those operations, by their ids. Raises KeyError where one leads nowhere."""
    for source, statuses, parameters, targets in _LINKS:
        for status in statuses:
            links = operations[source]["responses"][status].setdefault("links", {})
            for target in targets.split():
                name = target.title().replace("_", "")
                links[name] = {"operationId": operations[target]["operationId"], "parameters": parameters}


_COMPONENTS = "#/components/schemas/"
_NULL = {"type": "null"}
_METHODS = frozenset({"get", "put", "post", "delete", "patch"})


def modernised(part: Any) -> Any:
    """A part of the document without what OpenAPI 3.1 has given up: ``nullable``, and ``example`` in a schema."""
    if isinstance(part, list):
        return [modernised(each) for each in part]
    if part == {"$ref": f"{_COMPONENTS}Null"}:  # drf-spectacular's component for enums that may be null
        return _NULL
    if not isinstance(part, dict):
        return part
    made = {name: value if name in {"example", "examples"} else modernised(value) for name, value in part.items()}
    if made.pop("nullable", False):
        made = _or_null(made)
    if made.get("oneOf") == [{}, _NULL]:  # any value, and null: that is any value
        del made["oneOf"]
    return made


def with_examples(schemas: dict[str, Any]) -> dict[str, Any]:
    """Components whose ``example`` is one of ``examples``, as in JSON Schema."""
    made = {}
    for name, schema in schemas.items():
        rest = {key: value for key, value in schema.items() if key != "example"}
        made[name] = {**rest, "examples": [schema["example"]]} if "example" in schema else rest
    return made


def operations_of(document: dict[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Path and operation of every operation, by its id."""
    return {
        operation["operationId"]: (path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in _METHODS
    }


def add_media_examples(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Gives every request and answer of the operation an example, made from those of its components."""
    bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
    for body in bodies:
        for media_type, media in body.get("content", {}).items():
            if media_type == PROBLEM_TYPE or "example" in media or "examples" in media:
                continue
            example = _example_of(media.get("schema", {}), schemas)
            if example is not None:
                media["example"] = example


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema, which allows null too."""
    said: dict[str, Any]
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    if isinstance(kind, list) or kind is None:
        said = {name: schema.pop(name) for name in ("description", "readOnly") if name in schema}
        return {**said, "oneOf": [schema, _NULL]} if schema else said
    return {**schema, "type": [kind, "null"], "enum": [*schema["enum"], None]}


def _example_of(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """A value that the schema allows; None where its components show none."""
    if "$ref" in schema:
        return _example_of(schemas[schema["$ref"].removeprefix(_COMPONENTS)], schemas)
    if shown := schema.get("examples"):
        return shown[0]
    if schema.get("type") == "array":
        item = _example_of(schema["items"], schemas)
        return None if item is None else [item]
    properties = schema.get("properties", {})
    if {"next", "results"} <= properties.keys():  # a page of a list
        return {"next": None, "results": _example_of(properties["results"], schemas)}
    return None
