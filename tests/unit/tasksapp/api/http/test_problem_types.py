"""The table of problems: every code that the API's source names is in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tasksapp.api.http.problem_types import PROBLEM_TYPES, ProblemType
from tests.repository import ROOT, python_files

#: What makes a problem, with its code first: the class, what refuses with one, and a function.
MAKERS = ("Problem(", "Refused.of(", "_conflict(")


def named_codes() -> Iterator[tuple[str, str]]:
    """Code and place of every problem in the source."""
    for path in python_files("tasksapp", "delayhub"):
        source = path.read_text()
        if path.name != "exception_handler.py" and not any(maker in source for maker in MAKERS):
            continue  # most of the time would go into parsing it
        for node in ast.walk(ast.parse(source)):
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and f"{ast.unparse(node.func)}(" in MAKERS:
                yield from ((code.value, place) for code in node.args[:1] if isinstance(code, ast.Constant))
            if path.name == "exception_handler.py" and isinstance(node, ast.Assign):
                for name, value in assigned(node):
                    if name == "code" and isinstance(value, ast.Constant):
                        yield value.value, place


def assigned(node: ast.Assign) -> list[tuple[str, ast.expr]]:
    """Names and what they get."""
    (target,) = node.targets
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = zip(target.elts, node.value.elts, strict=True)
        return [(name.id, value) for name, value in pairs if isinstance(name, ast.Name)]
    return [(target.id, node.value)] if isinstance(target, ast.Name) else []


def test_every_code_of_the_source_is_in_the_table() -> None:
    found = list(named_codes())

    assert len(found) >= 55
    assert [place for code, place in found if code not in PROBLEM_TYPES] == []


def test_every_code_of_the_table_is_given_somewhere_in_the_source() -> None:
    files = [path for path in python_files("tasksapp", "delayhub") if path.name != "problem_types.py"]
    texts = [path.read_text() for path in files if "client" not in path.parts]

    assert [code for code in PROBLEM_TYPES if not any(f'"{code}"' in text for text in texts)] == []


@pytest.mark.parametrize("kind", PROBLEM_TYPES.values(), ids=lambda kind: str(kind.code))
def test_a_kind_of_problem_says_in_sentences_what_it_means_and_what_to_do(kind: ProblemType) -> None:
    assert kind.code.replace("_", "").isalpha()
    assert 300 <= kind.status < 600
    assert not kind.title.endswith(".")
    assert kind.meaning.endswith(".")
    assert kind.advice.endswith(".")
