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
from django.urls import NoReverseMatch, get_resolver, reverse
from django.views import defaults

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


#: Handlers of a URL conf, Django's own and ours, for errors that come to no view of the API.
_ERROR_PAGES = {400: "bad_request", 403: "permission_denied", 404: "page_not_found", 500: "server_error"}


@register(Tags.urls)
def check_error_pages(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning where callers of the API would get Django's pages: for a wrong Host, an error in middleware."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    try:
        reverse("delayhub:schema")
    except NoReverseMatch:
        return []
    resolver = get_resolver()
    lines = [
        f'handler{status} = "tasksapp.api.http.problems.{name}"'
        for status, name in _ERROR_PAGES.items()
        if resolver.resolve_error_handler(status) is getattr(defaults, name)
    ]
    if not lines:
        return []
    return [
        checks.Warning(
            "callers of DelayHub's API get an HTML page for errors that come to no view, such as a wrong Host header",
            hint=f"Write in {settings.ROOT_URLCONF}: {'; '.join(lines)}. All other addresses keep Django's pages.",
            id="delayhub.W010",
        )
    ]


def _is_fernet_key(key: Any) -> bool:
    try:
        Fernet(key)
    except (ValueError, TypeError, ImproperlyConfigured):
        return False
    return True
