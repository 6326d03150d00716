"""The ready-made project's settings, for tests: no setting of this machine reaches them, nor do they reach a Redis.

``DELAYHUB_TEST_DATABASE`` says where the tests run: ``sqlite`` (the default) or ``postgresql``.
Tests that need Redis point ``DELAYHUB["REDIS_URL"]`` at their private server.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from tests.postgres import postgres_url

# Where it is set (images of containers do that), each process of a run, and each that tests start, compiles all modules
# again: a run of the house rules takes four times as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

TEST_DATABASE = os.environ.get("DELAYHUB_TEST_DATABASE", "sqlite")
SCRATCH = Path(tempfile.gettempdir(), f"delayhub-tests-{os.getpid()}")
#: The folder of the first process of a run; those it starts (``pytest -n``) find it in their environment.
SHARED = Path(os.environ.setdefault("PYTEST_DELAYHUB_SHARED", str(SCRATCH)))

match TEST_DATABASE:
    case "sqlite":
        database_url = f"sqlite:///{SCRATCH}/delayhub.sqlite3"
    case "postgresql":
        database_url = postgres_url()
    case _:
        raise ValueError(f"DELAYHUB_TEST_DATABASE must be sqlite or postgresql, got {TEST_DATABASE}")

SETTINGS_FOR_TESTS = {
    "DELAYHUB_SECRET_KEY": "a key for tests, as long as Django wants a key to be, and secret no longer",
    "DELAYHUB_DATA_DIR": str(SCRATCH),
    "DELAYHUB_DATABASE_URL": database_url,
    # Nothing listens there: a test that forgot its private server is refused at once.
    "DELAYHUB_BROKER_URL": "delayhub://127.0.0.1:1/0",
}
OTHERS = {name: value for name, value in os.environ.items() if not name.startswith("DELAYHUB_")}
THRESHOLD = gc.get_threshold()
with patch.dict(os.environ, {**OTHERS, **SETTINGS_FOR_TESTS}, clear=True):
    from delayhub.project.settings import *  # noqa: F403  settings are a star by nature
    from delayhub.project.settings import DATABASES, INSTALLED_APPS

# What a test forgot to close is reported when it is collected: that shall be soon.
gc.set_threshold(*THRESHOLD)

if TEST_DATABASE == "sqlite":
    # A file, not memory: transactions then lock each other out as they do in production.
    DATABASES["default"]["TEST"] = {"NAME": str(SCRATCH / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"

# Receivers of callbacks have it.
INSTALLED_APPS += ["delayhub.receiver.django"]

# Static files are looked up when they are asked for. Else each client of a test lists them all first, for 50 ms.
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
LOGGING_CONFIG = None


def remove_scratch(made_by: int) -> None:
    if os.getpid() == made_by:  # not a fork's
        shutil.rmtree(SCRATCH, ignore_errors=True)


atexit.register(remove_scratch, os.getpid())
