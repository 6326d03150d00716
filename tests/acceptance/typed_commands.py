"""Commands as a person types them, in the virtual environment of the tests and without their settings."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from threading import Timer

DEADLINE_SECONDS = 120


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


def hear(command: str, folder: Path, *, until: str) -> str:
    """What a command says up to a certain line; it is ended then, or at the deadline."""
    process = subprocess.Popen(
        command.split(),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = Timer(DEADLINE_SECONDS, process.kill)
    deadline.start()
    heard: list[str] = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            heard.append(line)
            if until in line:
                process.terminate()
                break
        heard.append(process.stdout.read())
    deadline.cancel()
    return "".join(heard)
