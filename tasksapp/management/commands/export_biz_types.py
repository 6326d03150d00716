"""``manage.py export_biz_types``: prints all biz types as one JSON document, without secrets, to be kept in Git."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from tasksapp.biz_types.document import export_document
from tasksapp.management.arguments import add_tenant, tenant_named
from tasksapp.models import BizType


class Command(BaseCommand):
    """Exports biz types."""

    help = "Prints all biz types as one JSON document, without secrets: keep it in Git, and import it elsewhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--tenant``."""
        add_tenant(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the document and nothing else."""
        del args
        rows = BizType.objects.filter(tenant=tenant_named(options["tenant"]))
        self.stdout.write(json.dumps(export_document(rows), indent=2, ensure_ascii=False))
