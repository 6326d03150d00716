"""Pages of docs/reference that are made from the code: kinds of problems, calls of the REST API, public Python names.

``make docs`` writes them, and a house rule compares them with the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import django

from tests.repository import ROOT, tree_of

FOLDER = ROOT / "docs" / "reference"
#: The packages whose public names programs use.
PACKAGES = ("delayhub", "tasksapp.jobs", "delayhub.receiver")


def made_pages() -> dict[Path, str]:
    """Each page that is made, and its text."""
    from tasksapp.api.http.problem_types import PROBLEM_TYPES
    from tasksapp.api.openapi.document import openapi_document

    document = openapi_document(prefix="/api")
    return {
        FOLDER / "problems.md": "\n".join(problems(PROBLEM_TYPES.values())),
        FOLDER / "calls.md": "\n".join(calls(document)),
        FOLDER / "python.md": "\n".join(python_api()),
    }


def problems(kinds: Any) -> Iterator[str]:
    """A section for each kind of problem."""
    yield "# Problems: what the REST API refuses, and what to do"
    yield ""
    yield "Each refusal is a problem document (RFC 9457): [errors](rest.md#errors). Its `code` is a heading of this"
    yield "page, which is made from the code. A running site has the same texts at `/api/problems/`."
    for kind in kinds:
        yield from ["", f"## `{kind.code}`", "", f"**{kind.status}. {kind.title}.** {kind.meaning}", "", kind.advice]
    yield ""


def calls(document: dict[str, Any]) -> Iterator[str]:
    """A section for each call, by what it is about."""
    yield "# All calls of the REST API"
    yield ""
    yield "This page is made from the OpenAPI document that a site serves at `/api/schema`; `/api/docs/` there lets you"
    yield "try each call. [The REST API](rest.md) explains how they fit together. Every address begins with the site's"
    yield "own, and with the prefix that your project gave it: `/api` in the ready-made project."
    schemas = document["components"]["schemas"]
    for tag in document["tags"]:
        yield from ["", f"## {tag['name'][:1].upper()}{tag['name'][1:]}", "", one_line(tag.get("description", ""))]
        for path, methods in document["paths"].items():
            for method, call in methods.items():
                if tag["name"] in call.get("tags", ()):
                    yield from section(f"{method.upper()} {path}", call, schemas)
    yield ""


def python_api() -> Iterator[str]:
    """A place for each public name, where mkdocstrings writes what its docstring says."""
    yield "# The Python API"
    yield ""
    yield "Every name here is [public](promises.md#what-is-public), and what is said of it comes from the code. The"
    yield "client of the REST API has [a page of its own](client.md)."
    for package in PACKAGES:
        module = import_module(package)
        yield from ["", f"## `{package}`", "", one_line((module.__doc__ or "").split("\n\n")[0])]
        for name in module.__all__:
            yield from ["", f"::: {homes_of(module)[name]}.{name}"]
    yield ""


def homes_of(module: ModuleType) -> dict[str, str]:
    """The module that each name of a package is from, as its imports say."""
    assert module.__file__ is not None
    imports = [node for node in ast.walk(tree_of(Path(module.__file__))) if isinstance(node, ast.ImportFrom)]
    return {name.name: node.module or "" for node in imports for name in node.names}


def section(address: str, call: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    """One call: what it does, what it takes, and what it answers."""
    yield from ["", f"### {call['summary']}", "", f"`{address}` · `{call['operationId']}`", ""]
    yield one_line(call.get("description", ""))
    rows = [(given["name"], given["in"], given) for given in call.get("parameters", ())]
    rows += [(name, "body", field) for name, field in fields_of(call.get("requestBody", {}), schemas)]
    if rows:
        yield from ["", "| name | in | what it is |", "|---|---|---|"]
        yield from (
            f"| `{name}` | {where} | {in_a_cell(given.get('description', ''))} |" for name, where, given in rows
        )
    answers = (f"{status}{said(answer)}" for status, answer in call["responses"].items())
    yield from ["", f"Answers: {'; '.join(answers)}."]


def fields_of(body: dict[str, Any], schemas: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The fields of the JSON that a call takes."""
    schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    named = schemas.get(schema.get("$ref", "").rsplit("/", 1)[-1], schema)
    return list(named.get("properties", {}).items())


def said(answer: dict[str, Any]) -> str:
    """What an answer is, after its status."""
    text = one_line(answer.get("description", "")).rstrip(".")
    return f" {text}" if text else ""


def one_line(text: str) -> str:
    """A text without breaks, and with no list that only repeats the values of a choice."""
    return " ".join(re.sub(r"^\* `([^`]*)` - \1$", "", text, flags=re.MULTILINE).split())


def in_a_cell(text: str) -> str:
    """A text that may stand in a table."""
    return one_line(text).replace("|", "\\|")


def write() -> None:
    """Writes the pages that differ."""
    django.setup()
    for path, text in made_pages().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
