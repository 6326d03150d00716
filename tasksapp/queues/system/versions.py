"""The versions of what this process is made of."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from django.utils.translation import gettext as _

import delayhub
from tasksapp.queues.system.section import Fact, Section

#: Packages by the names that they are installed under.
PACKAGES = (
    "Django", "djangorestframework", "celery", "kombu", "redis", "hiredis", "aiohttp", "psycopg", "cryptography",
    "granian",
)  # fmt: skip


def versions_section() -> Section:
    """DelayHub's, Python's, and those of the packages that are installed here."""
    found = {name: _version(name) for name in PACKAGES}
    return Section(
        key="versions",
        title=_("Versions"),
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
