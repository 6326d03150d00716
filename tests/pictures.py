"""Makes the pictures of docs/images: ``make pictures``, which is ``python -m tests.pictures``.

Pages of the admin by a real browser, drawings by ``tests/drawings.py``, and the table of ``make demo`` as a terminal
shows it. ``all`` makes pictures of each page in each look instead, in var/screenshots.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import django
from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from delayhub.demo.demo import Demo
from delayhub.demo.site import Site, SiteOptions
from tests.repository import ROOT

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.django_settings")


def browse(file: str, **told: str) -> int:
    """Runs a test of pages that keeps pictures; its exit code."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", f"tests/browser/{file}"]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **told}, check=False).returncode


def terminal() -> str:
    """What `make demo` shows at its end, from a real run of it; without how late, which is about the machine."""
    with tempfile.TemporaryDirectory() as folder, Site(SiteOptions(data_dir=Path(folder))) as site:
        quiet = Console(file=(Path(folder) / "shown").open("w"))
        report, _ = asyncio.run(Demo(site, console=quiet).run(jobs=300, seconds=15))
    console = Console(record=True, width=48, file=StringIO(), force_terminal=True)
    console.print("[bold green]$[/] make demo")
    told = [number for number in report.numbers if not number.name.startswith("lateness")]
    console.print(replace(report, numbers=tuple(told)).table())
    shown = console.export_svg(title="make demo", theme=SVG_EXPORT_THEME)
    return re.sub(r"@font-face \{[^}]*\}", "", shown)  # they are fetched from another server


def main(words: Sequence[str]) -> int:
    if [*words] == ["all"]:
        shown = ROOT / "var" / "screenshots"
        shown.mkdir(parents=True, exist_ok=True)
        return browse("test_every_page.py", DELAYHUB_SCREENSHOTS=str(shown))
    django.setup()
    from tests.drawings import IMAGES, drawn  # the table of transitions is among Django's models

    for name, text in {**drawn(), "demo.svg": terminal()}.items():
        (IMAGES / name).write_text(text)
    return browse("test_pictures.py", DELAYHUB_PICTURES="1")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
