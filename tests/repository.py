"""The files of this repository, as the house rules see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("delayhub", "tasksapp", "tests", "benchmarks", "examples")


def python_files(*rooms: str) -> list[Path]:
    """Every Python file of the rooms (of all, by default), migrations apart: a program writes those."""
    return sorted(
        path
        for room in rooms or ROOMS
        for path in (ROOT / room).rglob("*.py")
        if "migrations" not in path.parts and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    )


def text_files() -> Iterator[Path]:
    """Every file that a person writes or reads here."""
    kinds = {".py", ".lua", ".md", ".toml", ".txt", ".html", ".js", ".css", ".json", ".yml", ".yaml", ".cfg", ".sh"}
    for room in (*ROOMS, "docs", "templates"):
        yield from (path for path in (ROOT / room).rglob("*") if path.suffix in kinds and path.is_file())
    yield from (path for path in ROOT.iterdir() if path.suffix in kinds and path.is_file())
    yield from (ROOT / name for name in ("Makefile", ".ci/run", "LICENSE", ".gitignore"))
