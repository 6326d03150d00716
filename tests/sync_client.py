"""Makes the synchronous client from the asynchronous one: ``make client``, which is ``python -m tests.sync_client``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.repository import ROOT

SOURCE, MADE = (ROOT / "delayhub" / "client" / name for name in ("asynchronous", "synchronous"))

#: What is written otherwise where nothing is awaited, in this order.
_CHANGES = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\banyio\.sleep\b", "time.sleep"),
    (r"^import anyio$", "import time"),
    (r"\baclose\b", "close"),
    (r"\ba(read|iter_bytes)\b", r"\1"),
    (r"\b__a(enter|exit)__", r"__\1__"),
    (r"\bdelayhub\.client\.asynchronous\b", "delayhub.client.synchronous"),
    (r"\basynchronous client\b", "synchronous client"),
]
_INIT = '"""The synchronous client, which ``make client`` makes from ``asynchronous``: change that one."""\n'


def made() -> dict[str, str]:
    """The modules of the synchronous client, by their file names."""
    with tempfile.TemporaryDirectory() as folder:
        for path in SOURCE.glob("*.py"):
            text = _INIT if path.name == "__init__.py" else without_awaiting(path.read_text())
            (Path(folder) / path.name).write_text(text)
        for command in (
            ("check", "--quiet", "--select", "I,F811,UP028,C416", "--fix", "--unsafe-fixes"),
            ("format", "--quiet"),
        ):
            settings = ("--no-cache", "--config", ROOT / "pyproject.toml")
            subprocess.run([sys.executable, "-m", "ruff", *command, *settings, folder], check=True, timeout=120)
        return {path.name: path.read_text() for path in Path(folder).glob("*.py")}


def without_awaiting(text: str) -> str:
    """A module as it is where nothing is awaited."""
    for pattern, instead in _CHANGES:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    modules = made()
    for old in MADE.glob("*.py"):
        old.unlink()
    for name, text in modules.items():
        (MADE / name).write_text(text)
