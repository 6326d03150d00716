"""``manage.py test_alert``: sends a test message to an owner, and says what came of it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasksapp.alerts.composer import owner_of
from tasksapp.alerts.outbox import send_test
from tasksapp.biz_types.visible import labelled
from tasksapp.models import BizType


class Command(BaseCommand):
    """Sends a test message to the owner of the site, or of a biz type."""

    help = "Send a test message to the owner of the site, or of a biz type."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--biz-type CODE``."""
        parser.add_argument("--biz-type", default="", metavar="CODE", help="To the owner of this biz type.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sends it. Raises CommandError where there is no owner, no such biz type, or a message was not sent."""
        code = options["biz_type"]
        biz_type = BizType.objects.select_related("tenant").filter(labelled(code)).first() if code else None
        if code and biz_type is None:
            raise CommandError(f"there is no biz type {code!r}")
        recipients = owner_of(biz_type)
        if not recipients:
            raise CommandError(
                "there is no owner: set OWNER_MAIL or OWNER_URL in DELAYHUB, or an owner of the biz type"
            )
        failed = 0
        for recipient in recipients:
            failure = send_test(recipient, biz_type=biz_type, by="manage.py")
            failed += bool(failure)
            self.stdout.write(f"{recipient.channel} {recipient.shown}: {failure or 'sent'}")
        if failed:
            raise CommandError(f"{failed} of {len(recipients)} messages were not sent")
