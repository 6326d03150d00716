"""Management commands, run in this process."""

from __future__ import annotations

from io import StringIO

from django.core.management import call_command


def run_command(name: str, *arguments: str) -> str:
    """What ``manage.py`` prints for that command."""
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()
