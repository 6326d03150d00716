"""Runs a benchmark or a chaos run by its name, or lists all: ``python -m benchmarks.run chaos jobs --jobs 500``.

A file is one of them where its docstring says so: its first line is the question, and it names its command.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from pathlib import Path

_COMMAND = re.compile(r"^Command: make (bench|chaos) NAME=([a-z-]+)", re.MULTILINE)
_OPTIONS_FOLLOW = 3


def runs(kind: str) -> dict[str, Path]:
    """The files of all benchmarks, or of all chaos runs, by their names."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        command = _COMMAND.search(ast.get_docstring(ast.parse(path.read_text())) or "")
        if command and command[1] == kind:
            found[command[2]] = path
    return found


def listed(kind: str) -> str:
    """A line for each: its name and its question."""
    lines = [f"make {kind} NAME=… OPTIONS=…, where OPTIONS=--help says what it may be asked, and NAME is one of:"]
    for name, path in sorted(runs(kind).items()):
        lines.append(f"  {name:<12} {path.read_text().splitlines()[0].lstrip(chr(34))}")
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Becomes the program that is named; the exit code 2 where there is none."""
    kind, name = words[1], "".join(words[2:_OPTIONS_FOLLOW])
    if (path := runs(kind).get(name)) is not None:
        os.execv(sys.executable, [sys.executable, "-m", f"benchmarks.{path.stem}", *words[_OPTIONS_FOLLOW:]])
    print(listed(kind), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv))
