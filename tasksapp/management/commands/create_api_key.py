"""``manage.py create_api_key NAME``: issues a key for a caller of the API and shows it once."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from tasksapp.access.actors import CONSOLE
from tasksapp.access.key_verbs import complaints
from tasksapp.access.keys import store_key
from tasksapp.errors import QuotaUsedUp
from tasksapp.management.arguments import add_tenant, tenant_named
from tasksapp.models import ApiKey, BizType, Tenant
from tasksapp.models.api_key import USUAL_SCOPES, Scope, usual_scopes


class Command(BaseCommand):
    """Issues an API key."""

    help = "Issues an API key and prints it; it is not kept and cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """NAME, and what the key may do."""
        parser.add_argument("name", help="whose key it is, such as the calling system's name")
        parser.add_argument("--owner", default="", help="who answers for its use")
        parser.add_argument(
            "--scope", action="append", dest="scopes", choices=Scope.values, metavar="SCOPE",
            help=f"what it may do; may be given several times: {', '.join(Scope.values)}. "
            f"Without any: {', '.join(USUAL_SCOPES)}",
        )  # fmt: skip
        parser.add_argument(
            "--biz-type", action="append", dest="biz_types", default=[], metavar="CODE",
            help="only this biz type; may be given several times",
        )  # fmt: skip
        add_tenant(parser)
        parser.add_argument("--days", type=int, help="it expires after so many days; without: never")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the key and nothing else, so that it can be piped."""
        del args
        name: str = options["name"].strip()
        if not name:
            raise CommandError("a key needs a name")
        tenant = tenant_named(options["tenant"])
        if ApiKey.objects.filter(name=name, tenant=tenant).exists():
            raise CommandError(f"there is a key named {name!r} already; disable or delete it in the admin first")
        row = ApiKey(
            name=name, owner=options["owner"], tenant=tenant, scopes=options["scopes"] or usual_scopes(),
            biz_type_ids=_ids(options["biz_types"], tenant=tenant), expires_at=_end(options["days"]),
        )  # fmt: skip
        for complaint in complaints(row, among={"name", "owner", "scopes", "expires_at"}).values():
            raise CommandError(complaint)
        try:
            issued = store_key(row, by=CONSOLE)
        except QuotaUsedUp as error:
            raise CommandError(str(error)) from None
        self.stdout.write(issued.key)


def _ids(codes: list[str], *, tenant: Tenant) -> list[int]:
    found = dict(BizType.objects.filter(tenant=tenant, code__in=codes).values_list("code", "id"))
    for code in codes:
        if code not in found:
            raise CommandError(f"there is no biz type {code!r}")
    return sorted(found.values())


def _end(days: int | None) -> datetime | None:
    if days is None:
        return None
    try:
        return timezone.now() + timedelta(days=days)
    except OverflowError:
        raise CommandError(f"--days is out of range: {days}") from None
