"""The ready-made project on a database and a Redis of its own, for runs that no test has set up.

Import this before any module of ``proof.jobs`` that knows models.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from contextlib import ExitStack

import django
from django.core.management import call_command

from tests.fuzz import database_url

_SET = {
    "DELAYHUB_SECRET_KEY": "a key of a run that nobody can reach, and that ends with it",
    "DELAYHUB_BROKER_URL": "delayhub://127.0.0.1:1/0",  # nobody listens there
    "DELAYHUB_LOG_LEVEL": "CRITICAL",
    "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
}


def set_up(database: str = "sqlite") -> None:
    """Sets up Django, unless that is done, and makes the tables.

    Args:
        database: ``sqlite``, which is in memory, or ``postgresql``: a new database on the tests' server, until the end.
    """
    ending = ExitStack()
    url = ending.enter_context(database_url(database)) or "sqlite://:memory:"
    atexit.register(ending.close)  # now: what is registered last runs first, and the server's own end is there already
    for name in [name for name in os.environ if name.startswith("DELAYHUB_")]:
        del os.environ[name]
    os.environ.update(_SET, DELAYHUB_DATABASE_URL=url, DELAYHUB_DATA_DIR=tempfile.mkdtemp(prefix="delayhub-proof-"))
    django.setup()
    call_command("migrate", verbosity=0)
