"""The report of the whole system: each section by itself, so that one that cannot be read hides no other.

The settings and versions are those of the process that shows the page, each as far as its mark lets it be shown.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error
from django.utils.translation import gettext as _

import delayhub
from delayhub.errors import OptionError
from delayhub.secrecy import Secrecy, host_of, is_shown
from tasksapp.conf import Options, options, secrecy_of
from tasksapp.queues.system.section import Column, Fact, Section, Value
from tasksapp.queues.system.servers import database_section, redis_section, timers_section
from tasksapp.queues.system.workers import lanes_section, loader_section, purge_section, workers_section
from tasksapp.timers.broker import broker
from tasksapp.timers.lanes import timer_address

#: Packages by the names that they are installed under.
PACKAGES = (
    "Django", "djangorestframework", "celery", "kombu", "redis", "hiredis", "aiohttp", "psycopg", "cryptography",
    "granian",
)  # fmt: skip


def settings_section() -> Section:
    """The options of ``DELAYHUB``, with what differs from the default marked. Raises ImproperlyConfigured."""
    now = options()
    rows: list[list[Value]] = []
    for field in fields(Options):
        value = getattr(now, field.name)
        rows.append([field.name.upper(), _shown(field.name, value), value == field.default])
    return Section(
        facts=[
            Fact("broker", _("Celery's broker"), _broker()),
            Fact("time_zone", _("Time zone"), settings.TIME_ZONE),
            Fact("debug", _("Debug"), settings.DEBUG),
        ],
        columns=[Column("name", _("Option")), Column("value", _("Value")), Column("is_default", _("Default"))],
        rows=rows,
        warnings=[_("DEBUG is on: errors show settings and code to anybody.")] if settings.DEBUG else [],
        notes=[_("These are the settings of the process that shows this page; workers may have others.")],
    )


def _shown(name: str, value: object) -> Value:
    secrecy = secrecy_of(name)
    if is_shown(value, secrecy) or not value:
        return [str(one) for one in value] if isinstance(value, tuple) else value  # type: ignore[return-value]  # a text
    if isinstance(value, tuple):
        return _("%(count)d, not shown") % {"count": len(value)}
    return host_of(str(value)) if secrecy is Secrecy.HOST else _("not shown")


def _broker() -> str:
    try:
        connection = broker()
        scheme = str(connection.transport_cls)
        return f"{scheme}://{timer_address()}" if scheme.startswith("delayhub") else f"{scheme}://"
    except (OptionError, ValueError, ImportError):  # the last: the driver of another broker
        return _("not known")


def versions_section() -> Section:
    """DelayHub's, Python's, and those of the packages that are installed here."""
    found = {name: _version(name) for name in PACKAGES}
    return Section(
        facts=[
            Fact("delayhub", "DelayHub", delayhub.__version__),
            Fact("python", "Python", platform.python_version()),
            Fact("platform", _("System"), platform.platform(terse=True)),
            *(Fact(name.lower(), name, there) for name, there in found.items() if there is not None),
        ],
        notes=[_("These are the versions of the process that shows this page.")],
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def system_report(*, check: bool = False) -> list[Section]:
    """All sections. Never raises for a server that is away: the section says why it is empty.

    Args:
        check: whether to compare timers with rows, which takes up to three seconds.
    """
    wanted: list[tuple[str, str, bool, Callable[[], Section]]] = [
        ("workers", _("Workers"), True, workers_section),
        ("loader", _("Loader"), True, loader_section),
        ("timers", _("Timers and rows"), check, partial(timers_section, check=check)),
        ("lanes", _("Timer lanes"), True, lanes_section),
        ("redis", _("Redis"), True, redis_section),
        ("database", _("Database"), False, database_section),
        ("purge", _("Purge"), True, purge_section),
        ("versions", _("Versions"), False, versions_section),
        ("settings", _("Settings in force"), False, settings_section),
    ]
    found: list[Section] = []
    redis_fault = ""
    for key, title, asks_redis, make in wanted:
        try:
            if redis_fault and asks_redis:  # it costs a second to find that out, once
                raise redis.ConnectionError
            found.append(replace(make(), key=key, title=title))
        except (redis.RedisError, OSError) as error:
            redis_fault = redis_fault or type(error).__name__
            text = _("Redis does not answer (%(error)s).") % {"error": redis_fault}
            found.append(Section(key=key, title=title, faults=[text]))
        except Error as error:
            text = _("The database does not answer (%(error)s).") % {"error": type(error).__name__}
            found.append(Section(key=key, title=title, faults=[text]))
        except (OptionError, ImproperlyConfigured, ValueError, ImportError) as error:
            # What libraries say of a URL may quote a part of its password.
            is_ours = isinstance(error, OptionError | ImproperlyConfigured | ImportError)
            text = _("The settings do not say: %(why)s") % {"why": error if is_ours else type(error).__name__}
            found.append(Section(key=key, title=title, faults=[text]))
    return found
