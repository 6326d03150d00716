"""``--tenant``: whose biz types a command is about."""

from __future__ import annotations

from argparse import ArgumentParser

from django.core.management.base import CommandError

from tasksapp.models import Tenant
from tasksapp.models.tenant import DEFAULT_CODE


def add_tenant(parser: ArgumentParser) -> None:
    """Adds the option to a command."""
    parser.add_argument("--tenant", default=DEFAULT_CODE, metavar="CODE", help="whose; %(default)s by default")


def tenant_named(code: str, *, using: str | None = None) -> Tenant:
    """The tenant of that code, in that database or where tenants are. Raises CommandError where there is none."""
    try:
        return Tenant.objects.using(using).get(code=code)
    except Tenant.DoesNotExist:
        raise CommandError(f"there is no tenant {code!r}") from None
