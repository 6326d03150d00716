"""SQLite files that are migrated once in a run: the first process that needs one makes it, all begin with copies."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from django.core.files import locks

from tests.repository import ROOT


def put_migrated_file(folder: Path) -> None:
    """Puts a migrated, empty database into the data folder of a site that is about to be prepared.

    It saves its ``migrate`` 2 s of a core. Outside of a test run it does nothing.
    """
    there = folder / "delayhub.sqlite3"
    if there.exists():
        return
    made = kept_file("site", _migrate_site)
    if made is not None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(made, there)


def put_kept_file(there: Path, make: Callable[[Path], None]) -> None:
    """Puts a copy of the shared file of the same name there, in a run of the tests."""
    made = kept_file(there.stem, make)
    assert made is not None, "there is no run of the tests"
    shutil.copy(made, there)


def kept_file(name: str, make: Callable[[Path], None]) -> Path | None:
    """A SQLite file that all processes of the run share and leave as it is; None outside of a run.

    Args:
        name: what it is called in this run.
        make: makes it at a path, for the first process that asks.
    """

    def make_all_of_it(unfinished: Path) -> None:
        make(unfinished)
        with closing(sqlite3.connect(unfinished)) as database:
            database.execute("PRAGMA journal_mode=DELETE")  # then the file is all of it

    return made_once(f"{name}.sqlite3", make_all_of_it)


def made_once(name: str, make: Callable[[Path], None]) -> Path | None:
    """A file or folder that the first process of the run makes that asks for it; None outside of a run."""
    shared = os.environ.get("PYTEST_DELAYHUB_SHARED")
    if not shared:
        return None
    made = Path(shared, "kept", name)
    made.parent.mkdir(parents=True, exist_ok=True)
    with made.with_name(f"{name}.lock").open("w") as lock:
        locks.lock(lock, locks.LOCK_EX)
        if not made.exists():
            unfinished = made.with_name(f"{name}.unfinished")
            make(unfinished)
            unfinished.rename(made)
    return made


def _migrate_site(path: Path) -> None:
    """The site's database, migrated by a process that has its settings."""
    folder = path.with_suffix(".folder")
    others = {name: value for name, value in os.environ.items() if not name.startswith("DELAYHUB_")}
    environment = {**others, "DJANGO_SETTINGS_MODULE": "delayhub.project.settings", "DELAYHUB_DATA_DIR": str(folder)}
    command = [sys.executable, "-m", "django", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=240)
    (folder / "delayhub.sqlite3").rename(path)
