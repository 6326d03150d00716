"""The OpenAPI document of the API: its own operations and no others of the project that includes it."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

from django.utils.translation import override
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.settings import SPECTACULAR_DEFAULTS, patched_settings

import delayhub
from tasksapp.api.http.openapi import PROBLEM
from tasksapp.api.openapi_callback import WEBHOOKS
from tasksapp.api.openapi_links import add_links
from tasksapp.api.openapi_schemas import add_media_examples, modernised, operations_of, with_examples
from tasksapp.api.openapi_words import CONTACT, DESCRIPTION, LICENSE, TAGS, tag_of
from tasksapp.api.operations import operations
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
    # Without these their names would depend on what else there is.
    "ENUM_NAME_OVERRIDES": {
        "OperationStateEnum": "tasksapp.models.Operation.State",
        "HealthStateEnum": [state.value for state in DeliveryState],
    },
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
    with patched_settings(_SETTINGS), GENERATOR_STATS.silence(), override("en"):
        generator: Any = SchemaGenerator(patterns=operations)  # type: ignore[no-untyped-call]  # it has no types
        document: dict[str, Any] = generator.get_schema(public=True)
    return _finished(document)


def _finished(document: dict[str, Any]) -> dict[str, Any]:
    """The document with what drf-spectacular leaves to others: groups, links, examples, webhooks."""
    document = modernised(document)
    schemas = with_examples({**document["components"]["schemas"], "Problem": PROBLEM})
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    found = operations_of(document)
    for path, operation in found.values():
        operation["tags"] = [tag_of(path)]
        add_media_examples(operation, schemas)
    add_links({name: operation for name, (_, operation) in found.items()})
    return {**document, "tags": TAGS, "webhooks": WEBHOOKS}
