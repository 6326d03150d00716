"""The files of this repository, as the house rules see them."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("delayhub", "tasksapp", "tests", "benchmarks", "proof", "examples")


def python_files(*rooms: str) -> list[Path]:
    """Every Python file of the rooms (of all, by default), migrations apart: a program writes those."""
    return sorted(
        path
        for room in rooms or ROOMS
        for path in (ROOT / room).rglob("*.py")
        if "migrations" not in path.parts and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    )


@cache
def text_of(path: Path) -> str:
    """What the file holds, read once in a run."""
    return path.read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    """The module as its syntax tree, parsed once in a run, for all rules; a rule changes nothing in it."""
    tree = ast.parse(text_of(path))
    gc.freeze()  # else each collection walks over all trees again, which costs more than to parse them
    return tree


@cache
def functions_of(path: Path) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    """All functions and methods of the module, those within others too."""
    return tuple(_functions_in(tree_of(path)))


def _functions_in(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for blocks in ("body", "orelse", "finalbody", "handlers", "cases"):  # expressions, most of a tree, hold none
        for inner in getattr(node, blocks, ()):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                yield inner
            yield from _functions_in(inner)


def text_files() -> Iterator[Path]:
    """Every file that a person writes or reads here."""
    kinds = {".py", ".lua", ".md", ".toml", ".txt", ".html", ".js", ".css", ".json", ".yml", ".yaml", ".cfg", ".sh"}
    for room in (*ROOMS, "docs", "templates"):
        yield from (path for path in (ROOT / room).rglob("*") if path.suffix in kinds and path.is_file())
    yield from (path for path in ROOT.iterdir() if path.suffix in kinds and path.is_file())
    yield from (ROOT / name for name in ("Makefile", ".ci/run", "LICENSE", ".gitignore"))
