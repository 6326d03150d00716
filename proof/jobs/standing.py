"""The ready-made project on SQLite in memory and a Redis of its own, for runs that no test has set up.

Import this before any module of ``proof.jobs`` that knows models.
"""

from __future__ import annotations

import os
import tempfile

import django
from django.core.management import call_command

_SET = {
    "DELAYHUB_SECRET_KEY": "a key of a run that nobody can reach, and that ends with it",
    "DELAYHUB_DATABASE_URL": "sqlite://:memory:",
    "DELAYHUB_BROKER_URL": "delayhub://127.0.0.1:1/0",  # nobody listens there
    "DELAYHUB_LOG_LEVEL": "CRITICAL",
    "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
}


def set_up() -> None:
    """Sets up Django, unless that is done, and makes the tables."""
    for name in [name for name in os.environ if name.startswith("DELAYHUB_")]:
        del os.environ[name]
    os.environ.update(_SET, DELAYHUB_DATA_DIR=tempfile.mkdtemp(prefix="delayhub-proof-"))
    django.setup()
    call_command("migrate", verbosity=0)
