"""Runs a benchmark or a chaos run by its name, or lists all: ``python -m benchmarks.run chaos jobs --jobs 500``.

A file is one of them where its docstring says so: its first line is the question, and it names its command. It has
``OPTIONS``, what it may be asked, and ``main``, which takes the answers and gives a ``Result``.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
from pathlib import Path

from benchmarks.processes import run_main

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
    """Runs what is named and shows what it found; the exit code, 2 where there is none of that name."""
    kind, name = words[1], "".join(words[2:_OPTIONS_FOLLOW])
    path = runs(kind).get(name)
    if path is None:
        print(listed(kind), file=sys.stderr)
        return 2
    module = importlib.import_module(f"benchmarks.{path.stem}")
    parser = argparse.ArgumentParser(
        prog=f"{kind} {name}", description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option in module.OPTIONS:
        option(parser)
    found = module.main(parser.parse_args(words[_OPTIONS_FOLLOW:]))
    found.show(f"{kind} {name}")
    return 0 if found.is_good else 1


if __name__ == "__main__":
    sys.exit(run_main(lambda: main(sys.argv)))
