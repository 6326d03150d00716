"""The OpenAPI document of the API: its own operations and no others of the project that includes it."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from django.utils.translation import override
from drf_spectacular import plumbing
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import SPECTACULAR_DEFAULTS, patched_settings

import delayhub
from tasksapp.api.definition_views import ACTIONS
from tasksapp.api.http.openapi import PROBLEM
from tasksapp.api.openapi_callback import WEBHOOKS
from tasksapp.api.openapi_links import add_links
from tasksapp.api.openapi_schemas import add_media_examples, modernised, operations_of, with_examples
from tasksapp.api.openapi_words import CONTACT, DESCRIPTION, LICENSE, TAGS, tag_of
from tasksapp.api.operations import operations
from tasksapp.api.representation.claim import OUTCOMES
from tasksapp.api.representation.operation import TRIAL_STATES
from tasksapp.biz_types.sample_call import AddressVerdict
from tasksapp.stats.delivery_health import DeliveryState

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
        "ClaimOutcome": OUTCOMES,
        "ImportAction": ACTIONS,
        "TrialState": TRIAL_STATES,
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
