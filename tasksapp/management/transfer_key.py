"""``--key``: what the secrets of an export are encrypted with."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from tasksapp.errors import InvalidExport
from tasksapp.transfer.transfer_key import TransferKey

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
