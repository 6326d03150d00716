"""The process that shows the page: its settings, each as far as its mark lets it be shown, and its versions."""

from __future__ import annotations

import platform
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version

from django.conf import settings
from django.utils.translation import gettext as _

import delayhub
from delayhub.errors import OptionError
from delayhub.secrecy import Secrecy, host_of, is_shown
from tasksapp.conf import Options, options, secrecy_of
from tasksapp.queues.system.section import Column, Fact, Section, Value
from tasksapp.timers.broker import broker, timer_address

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
