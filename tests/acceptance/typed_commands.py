"""Commands as a person types them, in the virtual environment of the tests and without their settings."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

DEADLINE_SECONDS = 60


def environment() -> dict[str, str]:
    """The environment of a person's shell."""
    # Celery sets Django up where that variable names its settings, and the tests' own run sets it.
    own = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    own["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), own["PATH"]])
    return {**own, "PYTHONUNBUFFERED": "1"}


def run(command: str, folder: Path) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
