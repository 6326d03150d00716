"""``manage.py import_biz_types FILE``: brings the biz types to what a document says, and lists what it changed."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import router

from tasksapp.access.actors import CONSOLE
from tasksapp.biz_types.document import Change, import_document
from tasksapp.errors import CodeTaken, InvalidBizType, QuotaUsedUp
from tasksapp.jobs.written_json import read_json
from tasksapp.management.arguments import add_tenant, tenant_named
from tasksapp.models import BizType


class Command(BaseCommand):
    """Imports biz types."""

    help = "Makes and changes biz types as a document of export_biz_types says, all or none. It deletes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """FILE, ``--dry-run``, ``--credentials`` and ``--tenant``."""
        parser.add_argument("file", help="the document; - reads it from standard input")
        parser.add_argument("--dry-run", action="store_true", help="list the differences and store nothing")
        parser.add_argument(
            "--credentials", metavar="FILE", help="a JSON object: by code, the auth_secret of biz types that need one"
        )
        add_tenant(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Lists what was changed, or would be."""
        del args
        tenant = tenant_named(options["tenant"])
        try:
            done = import_document(
                _read(options["file"]),
                within=BizType.objects.using(router.db_for_write(BizType)).filter(tenant=tenant),
                tenant_id=tenant.pk,
                credentials=_credentials(options["credentials"]),
                dry_run=options["dry_run"],
                by=CONSOLE,
            )
        except InvalidBizType as error:
            raise CommandError("\n".join(f"{fault.field}: {fault.message}" for fault in error.faults)) from None
        except (CodeTaken, QuotaUsedUp) as error:
            raise CommandError(str(error)) from None
        for change in done.changes:
            self._say(change)
        for code in done.left_alone:
            self.stdout.write(f"{code}: not in the document, stays as it is")
        if options["dry_run"]:
            self.stdout.write("This was a dry run: nothing is stored.")

    def _say(self, change: Change) -> None:
        match change.action:
            case "create":
                self.stdout.write(f"{change.code}: new")
            case "change":
                self.stdout.write(f"{change.code}: changed")
                for name, after in change.after.items():
                    before = f"{_shown(change.before[name])} -> " if name in change.before else ""
                    self.stdout.write(f"  {name}: {before}{_shown(after)}")
            case _:
                self.stdout.write(f"{change.code}: the same")
        if "signing_secret" in change.needs:
            self.stdout.write("  its callbacks are not signed: make a secret in the admin, or by POST …/rotate")


def _read(file: str) -> Any:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
        return read_json(text).value
    except (OSError, ValueError) as error:
        raise CommandError(f"{file}: {error}") from None


def _credentials(file: str | None) -> dict[str, str]:
    if file is None:
        return {}
    given = _read(file)
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise CommandError(f"{file}: the credentials must be a JSON object of texts")
    return given


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
