"""To look for sockets takes no lock away that the process has on a file: those of SQLite keep its file whole."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from delayhub.project.stalled_readers import bound_unread_time

_TRY = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(3)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="cannot run here: this system lists no descriptors")
def test_locks_of_files_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite3"
    path.write_bytes(b"a database")

    with path.open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        bound_unread_time(60)

        other = subprocess.run([sys.executable, "-c", _TRY, str(path)], check=False)

    assert other.returncode == 3, "another process has got the lock"
