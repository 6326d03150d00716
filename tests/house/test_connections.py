"""Redis is reached through pools only: a connection that never went through one does not know what it belongs to.

A pool connects what it gives out by ``connect()``. A connection that is made by hand connects at its first command,
which goes past what a subclass does there: behind Sentinel it then reaches redis-py's default, localhost:6379.
"""

from __future__ import annotations

import ast

from tests.repository import ROOT, python_files


def test_no_module_takes_a_connection_past_its_pool() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("delayhub", "tasksapp")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Attribute) and node.attr == "make_connection")
        or (isinstance(node, ast.keyword) and node.arg == "single_connection_client")
    ]

    assert found == []
