"""Our overrides of what tracing libraries replace call the method that they override."""

from __future__ import annotations

import ast

import pytest

from tests.replaced_by_tracers import REPLACED
from tests.repository import ROOT

NAMES = {path.rpartition(".")[2] for path in REPLACED if "." in path.partition(":")[2]}
METHODS = [
    pytest.param(method, id=f"{path.relative_to(ROOT)}:{kind.name}.{method.name}")
    for path in sorted((ROOT / "delayhub").rglob("*.py"))
    for kind in ast.walk(ast.parse(path.read_text()))
    if isinstance(kind, ast.ClassDef) and (kind.bases or kind.name == "SharedTicks")  # a mixin
    for method in kind.body
    if isinstance(method, ast.FunctionDef) and method.name in NAMES
]


@pytest.mark.parametrize("method", METHODS)
def test_an_override_of_what_is_replaced_calls_the_method_of_its_base(method: ast.FunctionDef) -> None:
    assert f"super().{method.name}(" in ast.unparse(method)


def test_there_are_such_overrides() -> None:
    assert {"apply_entry", "tick"} <= {parameter.values[0].name for parameter in METHODS}
