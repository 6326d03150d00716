"""Hooks of schemathesis for ``tests.fuzz``: they aim half of the requests at what is there, and none at the own key."""

from __future__ import annotations

import json
import os
from typing import Any

import schemathesis

#: What is there: by the name of a path's parameter and the group of addresses, some values.
THERE: dict[str, list[str]] = json.loads(os.environ["FUZZ_THERE"])
OWN_KEY = os.environ["FUZZ_OWN_KEY"]


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Every second request names something that exists."""
    if not path_parameters:
        return path_parameters
    group = context.operation.path.split("/")[2]
    aimed = {}
    for name, value in path_parameters.items():
        known = THERE.get(f"{group}.{name}") or THERE.get(name, [])
        chosen = sum(map(ord, str(value)))
        aimed[name] = known[chosen // 2 % len(known)] if known and chosen % 2 else value
        if group == "keys" and str(aimed[name]).strip("0 +") == OWN_KEY:
            aimed[name] = known[0]
    return aimed


@schemathesis.hook
def map_query(context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    """Long polls wait for a second at most: thousands of whole ones would take hours."""
    if query and type(query.get("wait")) in (int, float) and query["wait"] > 1:
        query["wait"] = 1
    return query


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Jobs are of the biz type that is there, and it keeps its code; a claim waits for a second at most."""
    if isinstance(body, dict) and type(body.get("wait")) in (int, float) and body["wait"] > 1:
        body["wait"] = 1
    for part in body.get("jobs", [body]) if isinstance(body, dict) and isinstance(body.get("jobs", []), list) else []:
        if isinstance(part, dict):
            if isinstance(part.get("biz_type"), str) and len(part["biz_type"]) % 2:
                part["biz_type"] = THERE["code"][0]
            if context.operation.method.upper() == "PATCH" and isinstance(part.get("code"), str):
                del part["code"]
    return body


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """Leaves out requests that are said to lack a required property which nothing requires.

    To fill a list, schemathesis (4.32) makes a template of its items in which every property is required, and then
    leaves out one of these: a biz type without a ``lane`` was to be refused, of which the document requires the code.
    """
    said = str(getattr(case.meta.phase.data, "description", None) if case.meta else "")
    _, found, name = said.rpartition("Missing required property: ")
    document = context.operation.schema.raw_schema
    asked = {name: part for name, part in context.operation.definition.raw.items() if name != "responses"}
    return not found or name in _required(asked, document, seen=set())


def _required(node: Any, document: dict[str, Any], *, seen: set[str]) -> set[str]:
    """The names that anything below a node of the document requires: parameters and properties, also by reference."""
    if isinstance(node, list):
        return {name for each in node for name in _required(each, document, seen=seen)}
    if not isinstance(node, dict):
        return set()
    found = (
        {name for name in node.get("required", ()) if isinstance(name, str)}
        if isinstance(node.get("required"), list)
        else set()
    )
    if node.get("required") is True and isinstance(node.get("name"), str):
        found.add(node["name"])
    reference = node.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        seen.add(reference)
        target: Any = document
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        found |= _required(target, document, seen=seen)
    return found.union(*(_required(each, document, seen=seen) for each in node.values()))
