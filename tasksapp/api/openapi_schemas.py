"""Schemas of the OpenAPI document as JSON Schema 2020-12 has them, and examples of whole requests and answers."""

from __future__ import annotations

from typing import Any

from tasksapp.api.http.problems import MEDIA_TYPE as PROBLEM_TYPE

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
