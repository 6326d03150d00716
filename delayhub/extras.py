"""What the extras of this distribution bring: ``pip install delayhub`` itself brings no other package."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec

from delayhub.errors import NotInstalled

logger = logging.getLogger(__name__)

#: A module of each package that an extra brings itself, beside those of the extras that it includes.
MODULES: Mapping[str, Sequence[str]] = {
    "celery": ("celery", "hiredis", "kombu", "packaging", "redis"),
    "client": ("anyio", "httpx"),
    "cli": ("click", "rich"),
    "django": (
        "aiohttp", "cron_descriptor", "cronsim", "cryptography", "django", "django_filters", "django_htmx",
        "drf_spectacular", "drf_spectacular_sidecar", "multidict", "prometheus_client", "rest_framework",
        "standardwebhooks", "structlog", "yarl",
    ),
    "mcp": ("jsonschema", "mcp"),
    "standalone": ("dj_database_url", "granian", "psycopg", "uvloop", "whitenoise"),
    "telemetry": ("opentelemetry",),
}  # fmt: skip
#: The oldest version of a package that works, and the first one that was not tested.
BOUNDS: Mapping[str, tuple[str, str]] = {"celery": ("5.5", "5.8"), "kombu": ("5.5.2", "5.8"), "redis": ("6", "9")}


def require(*extras: str) -> None:
    """Raises NotInstalled where a package of one of the extras is missing."""
    for extra in extras:
        if missing := [name for name in MODULES[extra] if not _is_there(name)]:
            are = "is" if len(missing) == 1 else "are"
            raise NotInstalled(f"{', '.join(missing)} {are} not installed", extra=extras[0], name=missing[0])


@cache
def check_version(package: str, found: str) -> None:
    """Check the version of a package of the extra ``celery``: log a warning, once, where it was not tested yet.

    pip knows the bounds only when it installs the extra, not when it installs the package alone.

    Raises:
        NotInstalled: the version is older than those that work.
    """
    oldest, untested = BOUNDS[package]
    if _numbers(found) < _numbers(oldest):
        raise NotInstalled(f"{package} is {found}, and has to be {oldest} or newer", extra="celery", name=package)
    if _numbers(found) >= _numbers(untested):
        logger.warning(
            "%s is %s, which this version of DelayHub was not tested with: it was tested with those below %s",
            package, found, untested, extra={"action": "startup"},
        )  # fmt: skip


def not_installed(error: ModuleNotFoundError, *, extra: str) -> ModuleNotFoundError:
    """The error to raise in place of one that names a module of a package, and not what to install.

    Errors about modules that the extra does not bring stay as they are.
    """
    if isinstance(error, NotInstalled):
        return error
    missing = (error.name or "").partition(".")[0]
    brought = {name for modules in MODULES.values() for name in modules}
    return NotInstalled(f"{missing} is not installed", extra=extra, name=missing) if missing in brought else error


def _is_there(module: str) -> bool:
    # find_spec refuses kombu and celery once they are imported: they take the places of their own modules.
    return sys.modules.get(module) is not None or find_spec(module) is not None


def _numbers(version: str) -> tuple[int, ...]:
    """``5.5.0rc1`` as (5, 5, 0): a release candidate has what its release will have."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
