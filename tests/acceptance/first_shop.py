"""The project that docs/start/django.md makes, word for word."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.acceptance.typed_commands import DEADLINE_SECONDS, environment, hear
from tests.repository import ROOT

PAGE = (ROOT / "docs/start/django.md").read_text()
#: The file that each block is written to, and its text. "at its end" adds to what Django has made.
BLOCKS = re.findall(r"```python\n# (\S+?)(, at its end)?\n(.*?)```", PAGE, re.DOTALL)
[START] = re.findall(r"`(django-admin startproject .*?)`", PAGE)
[COMMANDS] = re.findall(r"```\n(python manage\.py check\n.*?)```", PAGE, re.DOTALL)
CHECK, MIGRATE, PLACE_ORDER, WORK = COMMANDS.splitlines()


class FirstShop:
    """A shop in a folder of its own.

    Args:
        folder: an empty folder.
        port: that of a Redis server on this machine, in the place of 6379.
    """

    def __init__(self, folder: Path, *, port: int) -> None:
        self.folder = folder / "shop"
        self.port = port
        subprocess.run(START, shell=True, cwd=folder, env=environment(), check=True, timeout=DEADLINE_SECONDS)
        for name, at_its_end, text in BLOCKS:
            file = self.folder / name
            before = file.read_text() if at_its_end else ""
            file.write_text(before + text.replace("127.0.0.1:6379", f"127.0.0.1:{port}"))

    def copy(self, folder: Path) -> FirstShop:
        """The same shop in another folder, so that a test may change it."""
        copied = object.__new__(FirstShop)
        copied.folder, copied.port = folder / "shop", self.port
        shutil.copytree(self.folder, copied.folder)
        return copied

    def add(self, name: str, text: str) -> None:
        """Writes the text to the end of a file."""
        with (self.folder / name).open("a") as file:
            file.write(f"\n{text}\n")

    def replace(self, name: str, old: str, new: str) -> None:
        """Writes something else in the place of what is there once."""
        file = self.folder / name
        before = file.read_text()
        assert before.count(old) == 1, f"{old!r} stands {before.count(old)} times in {name}"
        file.write_text(before.replace(old, new))

    def hear(self, command: str) -> tuple[int, str]:
        """The exit code of a command, and all that it says."""
        done = subprocess.run(
            command,
            shell=True,
            cwd=self.folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        return done.returncode, done.stdout

    def run(self, command: str) -> str:
        """What a command says; it must succeed."""
        code, said = self.hear(command)
        assert code == 0, f"{command}\n{said}"
        return said

    def work(self, *, until: str, pool: str = "solo", options: str = "") -> str:
        """What a worker says up to a certain line, or to its end."""
        return hear(f"{WORK} --pool {pool} {options}", self.folder, until=until)
