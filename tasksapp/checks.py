"""System checks: they report what is wrong with the project's settings before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, router
from django.urls import NoReverseMatch, get_resolver, reverse
from django.utils.module_loading import import_string
from django.views import defaults

from tasksapp.conf import NOT_A_DICT, complaints, options

#: The databases that the statements in ``tasksapp.sql`` are written for, as Django calls them.
SUPPORTED = {"postgresql", "sqlite"}


@register(Tags.compatibility)
def check_options(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """An error for each option that does not exist, or whose value is not valid."""
    given = getattr(settings, "DELAYHUB", {})
    if not isinstance(given, Mapping):
        return [Error(NOT_A_DICT.format(type(given).__name__), id="delayhub.E001")]
    return [Error(complaint, id="delayhub.E002") for complaint in complaints(given)]


@register(Tags.compatibility)
def check_api_authentication(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """An error for each authentication class of the API that cannot be imported."""
    found: list[CheckMessage] = []
    for name in _listed_in("API_AUTHENTICATION"):
        try:
            import_string(str(name))
        except ImportError as error:
            hint = "Write the dotted name of a class, such as 'shop.callers.ShopAuthentication'."
            found.append(Error(f"DELAYHUB['API_AUTHENTICATION']: {error}", hint=hint, id="delayhub.E018"))
    return found


@register(Tags.security)
def check_allowed_tasks(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning for each entry that lets biz types run every task that workers have."""
    return [
        checks.Warning(
            f"DELAYHUB['ALLOWED_TASKS'] has {entry!r}: who may write biz types and jobs there runs every task of the"
            " project, with any arguments",
            hint="Name the tasks, or a module of tasks that check their arguments, such as 'shop.callbacks.*'.",
            id="delayhub.W031",
        )
        for entry in _listed_in("ALLOWED_TASKS")
        if isinstance(entry, str) and not entry.rpartition("/")[2].strip("*?.")
    ]


@register(Tags.security)
def check_encryption_keys(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """An error for each encryption key that is not valid."""
    return [
        Error(
            f"DELAYHUB['ENCRYPTION_KEYS'][{index}] is no Fernet key",
            hint='Make one: python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"',
            id="delayhub.E003",
        )
        for index, key in enumerate(_listed_in("ENCRYPTION_KEYS"))
        if not _is_fernet_key(key)
    ]


@register(Tags.security, deploy=True)
def check_deployment(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning without encryption keys: with keys of their own, the secrets survive a new SECRET_KEY."""
    if _listed_in("ENCRYPTION_KEYS"):
        return []
    return [
        checks.Warning(
            "secrets are encrypted with a key derived from SECRET_KEY: a new SECRET_KEY makes them unreadable",
            hint="Set DELAYHUB['ENCRYPTION_KEYS'] to a list of Fernet keys, the newest first.",
            id="delayhub.W001",
        )
    ]


@register(Tags.database, deploy=True)
def check_lock_waits(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning where requests wait for locks without end: one lock then holds every thread of a web server."""
    try:
        if options().web_lock_seconds:
            return []
    except ImproperlyConfigured:  # another check reports the options
        return []
    return [
        checks.Warning(
            f"requests wait for locks in DATABASES[{alias!r}] without end: one lock can hold a whole web server",
            hint="Set DELAYHUB['WEB_LOCK_SECONDS'], and call bound_lock_waits() in wsgi.py. Behind PgBouncer write"
            " ALTER ROLE … SET lock_timeout = '3s' for a role of the web servers, and silence this.",
            id="delayhub.W035",
        )
        for alias, database in settings.DATABASES.items()
        if database.get("ENGINE", "").endswith("postgresql")
        and "lock_timeout" not in str(database.get("OPTIONS", {}).get("options"))
    ]


@register(Tags.database)
def check_sqlite(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning for each SQLite database whose transactions fail at once where two write."""
    return [
        checks.Warning(
            f"DATABASES[{alias!r}] is SQLite without {' and '.join(missing)} in its OPTIONS:"
            " where two transactions write, one fails at once",
            hint='Write "transaction_mode": "IMMEDIATE" and "init_command": "PRAGMA journal_mode=WAL;".',
            id="delayhub.W002",
        )
        for alias, database in settings.DATABASES.items()
        if database.get("ENGINE", "").endswith("sqlite3") and (missing := _missing_in(database.get("OPTIONS", {})))
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


@register(Tags.compatibility)
def check_times(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """An error where Django stores times without their zone: nothing says then when a job is due."""
    if settings.USE_TZ:
        return []
    return [
        Error(
            "jobs cannot be created: with USE_TZ = False, times have no zone",
            hint="Write USE_TZ = True; Django's page on time zones says how to move a project over.",
            id="delayhub.E010",
        )
    ]


@register(Tags.compatibility)
def check_database(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """An error where jobs are in a database that DelayHub does not support, or not in that of the project's rows."""
    job, *others = apps.get_app_config("tasksapp").get_models()
    used = {router.db_for_write(model) for model in (job, *others)}
    used |= {router.db_for_read(model) for model in (job, *others)}
    if len(used) > 1:
        return [
            Error(
                f"DATABASE_ROUTERS spread DelayHub's tables over {_listed(used)}: one transaction cannot hold them",
                hint="Let db_for_read and db_for_write name one database for the app label 'tasksapp'.",
                id="delayhub.E012",
            )
        ]
    (alias,) = used
    found: list[CheckMessage] = []
    if (vendor := connections[alias].vendor) not in SUPPORTED:
        found.append(
            Error(
                f"jobs are in DATABASES[{alias!r}], which is {vendor}: DelayHub runs on PostgreSQL and on SQLite",
                hint="Use PostgreSQL, or name such a database for the app label 'tasksapp' in a DATABASE_ROUTERS.",
                id="delayhub.E011",
            )
        )
    elsewhere = {
        router.db_for_write(model)
        for config in apps.get_app_configs()
        if config.name != "tasksapp" and not config.name.startswith("django.")
        for model in config.get_models()
    }
    if elsewhere and alias not in elsewhere:
        found.append(
            Error(
                f"jobs are written to {alias!r} and all other rows to {_listed(elsewhere)}: a job is there though the"
                " transaction of its order is rolled back",
                hint="Let DATABASE_ROUTERS leave the app label 'tasksapp' in the database of your own models. If you"
                " want it so, add 'delayhub.E012' to SILENCED_SYSTEM_CHECKS.",
                id="delayhub.E012",
            )
        )
    return found


@register(Tags.compatibility)
def check_refresh(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning where the admin's pages stay as they were loaded, since what refreshes them is not installed."""
    if not apps.is_installed("django.contrib.admin") or apps.is_installed("django_htmx"):
        return []
    return [
        checks.Warning(
            "DelayHub's pages in the admin do not refresh themselves",
            hint='Add "django_htmx" to INSTALLED_APPS: it comes with DelayHub and brings the script. It needs no'
            " middleware. Or add 'delayhub.W011' to SILENCED_SYSTEM_CHECKS.",
            id="delayhub.W011",
        )
    ]


def _listed_in(option: str) -> Sequence[Any]:
    """What an option lists, valid or not; nothing where it is no list, which another check reports."""
    given = getattr(settings, "DELAYHUB", {})
    listed = given.get(option) if isinstance(given, Mapping) else None
    return listed if isinstance(listed, list | tuple) else ()


def _missing_in(sqlite_options: Mapping[str, Any]) -> list[str]:
    immediate = sqlite_options.get("transaction_mode") == "IMMEDIATE"
    wal = re.search(r"journal_mode\s*=\s*wal", str(sqlite_options.get("init_command", "")), re.IGNORECASE)
    return [name for name, there in (("transaction_mode", immediate), ("journal_mode=WAL", wal)) if not there]


def _listed(aliases: set[str]) -> str:
    return " and ".join(repr(alias) for alias in sorted(aliases))


def _is_fernet_key(key: Any) -> bool:
    from cryptography.fernet import Fernet  # noqa: PLC0415  7 MB, where there is a key

    try:
        Fernet(key)
    except (ValueError, TypeError, ImproperlyConfigured):
        return False
    return True
