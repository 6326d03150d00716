"""List every package of an installation, in the version of ``constraints.txt``, with the hashes of its files.

It writes ``requirements/*.txt``, for all platforms and Pythons, with uv: ``build`` builds DelayHub, ``standalone``
and ``embedded`` are what ``make demo`` needs, ``dev`` is all that the tests need. No file names a package index.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from tests.repository import ROOT

FOLDER = ROOT / "requirements"
#: The extras of ``pyproject.toml`` whose packages a file lists.
FILES = {"standalone": ["standalone"], "embedded": ["embedded"], "dev": ["dev"]}
OLDEST_PYTHON = "3.11"
#: What hatchling asks for where it builds an editable installation.
OF_EDITABLE = "editables"


def locked(*source: str, text: str | None = None) -> dict[str, str]:
    """Return the block of each package: its pin, where it is needed, and its hashes."""
    command = [
        *(sys.executable, "-m", "uv", "pip", "compile", *source, "--constraint", str(ROOT / "constraints.txt")),
        *("--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes"),
        *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--quiet"),
    ]
    run = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    blocks: dict[str, str] = {}
    name = ""
    for line in run.stdout.splitlines(keepends=True):
        if line.startswith((" ", "\t")):
            blocks[name] += line
        else:
            name = line.partition("==")[0]
            blocks[name] = line
    return blocks


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    known: dict[str, str] = {}
    for name, extras in FILES.items():
        blocks = locked("pyproject.toml", *(f"--extra={extra}" for extra in extras))
        if name == "embedded":  # it is installed beside the first one, or not at all
            blocks = {package: block for package, block in blocks.items() if package not in known}
        known |= blocks
        write(FOLDER / f"{name}.txt", blocks)
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    write(FOLDER / "build.txt", locked("-", text="\n".join([*build, OF_EDITABLE])))


def write(path: Path, blocks: dict[str, str]) -> None:
    """Write the blocks in the order of their packages."""
    path.write_text("".join(blocks[package] for package in sorted(blocks)))
    print(f"{path.relative_to(ROOT)}: {len(blocks)} packages")


if __name__ == "__main__":
    main()
