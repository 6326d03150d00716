"""Options of several commands: ``--tenant``, whose rows they are about, and ``--key``, for the secrets of an export."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from tasksapp.errors import InvalidExport
from tasksapp.models import Tenant
from tasksapp.models.tenant import DEFAULT_CODE
from tasksapp.transfer.transfer_key import TransferKey


def add_tenant(parser: ArgumentParser) -> None:
    """Adds the option to a command."""
    parser.add_argument("--tenant", default=DEFAULT_CODE, metavar="CODE", help="whose; %(default)s by default")


def tenant_named(code: str, *, using: str | None = None) -> Tenant:
    """The tenant of that code, in that database or where tenants are. Raises CommandError where there is none."""
    try:
        return Tenant.objects.using(using).get(code=code)
    except Tenant.DoesNotExist:
        raise CommandError(f"there is no tenant {code!r}") from None


#: How to make one, for the help.
MAKE = "python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())' makes one"


def add_key(parser: ArgumentParser) -> None:
    """Adds the option to a command."""
    parser.add_argument("--key", metavar="FILE", help=f"a file with the key of its secrets; {MAKE}")


def read_key(file: str | None) -> TransferKey:
    """The key in that file. Raises CommandError where there is none."""
    try:
        return TransferKey("" if file is None else Path(file).read_text().strip())
    except (OSError, ValueError, InvalidExport) as error:
        raise CommandError(f"{file}: {error}") from None
