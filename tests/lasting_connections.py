"""The ready-made project's settings, with connections to the database that are kept until they break."""

from __future__ import annotations

from delayhub.project.settings import *  # noqa: F403  settings are a star by nature
from delayhub.project.settings import DATABASES

DATABASES["default"]["CONN_MAX_AGE"] = None
