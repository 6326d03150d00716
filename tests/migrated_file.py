"""One migrated SQLite file for all sites of a run: the first that needs it makes it, each site begins with a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from django.core.files import locks

from tests.repository import ROOT


def put_migrated_file(folder: Path) -> None:
    """Puts a migrated, empty database into the data folder of a site that is about to be prepared.

    It saves its ``migrate`` 2 s of a core. Outside of a test run it does nothing.
    """
    there = folder / "delayhub.sqlite3"
    shared = os.environ.get("PYTEST_DELAYHUB_SHARED")
    if not shared or there.exists():
        return
    made = Path(shared, "site", "delayhub.sqlite3")
    made.parent.mkdir(parents=True, exist_ok=True)
    with (made.parent / "lock").open("w") as lock:
        locks.lock(lock, locks.LOCK_EX)
        if not made.exists():
            _migrate(made.parent / "unfinished").rename(made)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copy(made, there)


def _migrate(folder: Path) -> Path:
    """The database, migrated and closed, so that the file is all of it."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("DELAYHUB_")}
    environment = {**others, "DJANGO_SETTINGS_MODULE": "delayhub.project.settings", "DELAYHUB_DATA_DIR": str(folder)}
    command = [sys.executable, "-m", "django", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=120)
    return folder / "delayhub.sqlite3"
