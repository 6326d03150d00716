"""System checks: they report what is wrong with the project's settings before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.fernet import Fernet
from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured

from tasksapp.conf import complaints


@register(Tags.compatibility)
def check_options(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """An error for each option that does not exist, or whose value is not valid."""
    given = getattr(settings, "DELAYHUB", {})
    if not isinstance(given, Mapping):
        return [Error(f"DELAYHUB must be a dict, got {given!r}", id="delayhub.E001")]
    return [Error(complaint, id="delayhub.E002") for complaint in complaints(given)]


@register(Tags.security, deploy=True)
def check_encryption_keys(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning without encryption keys, an error for each that is not valid.

    With keys of their own, the secrets in the database survive a new SECRET_KEY.
    """
    given = getattr(settings, "DELAYHUB", {})
    keys = given.get("ENCRYPTION_KEYS", ()) if isinstance(given, Mapping) else ()
    if not keys:
        return [
            checks.Warning(
                "secrets are encrypted with a key derived from SECRET_KEY: a new SECRET_KEY makes them unreadable",
                hint="Set DELAYHUB['ENCRYPTION_KEYS'] to a list of Fernet keys, the newest first.",
                id="delayhub.W001",
            )
        ]
    return [
        Error(f"DELAYHUB['ENCRYPTION_KEYS'][{index}] is no Fernet key", id="delayhub.E003")
        for index, key in enumerate(keys)
        if not _is_fernet_key(key)
    ]


@register(Tags.database)
def check_databases(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning for each SQLite database whose transactions begin as readers.

    Such a transaction fails at once where it begins to write while another one writes.
    """
    return [
        checks.Warning(
            f"DATABASES[{alias!r}] is SQLite without OPTIONS['transaction_mode'] = 'IMMEDIATE'",
            hint="Set it, and journal_mode=WAL in OPTIONS['init_command'].",
            id="delayhub.W002",
        )
        for alias, database in settings.DATABASES.items()
        if database.get("ENGINE", "").endswith("sqlite3")
        and database.get("OPTIONS", {}).get("transaction_mode") != "IMMEDIATE"
    ]


def _is_fernet_key(key: Any) -> bool:
    try:
        Fernet(key)
    except (ValueError, TypeError, ImproperlyConfigured):
        return False
    return True
