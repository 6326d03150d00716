"""``manage.py silence_alerts``: for a while nobody is told of what begins, as during a deployment; or ends that."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import router
from django.utils import timezone

from tasksapp.access.actors import CONSOLE
from tasksapp.alerts.silences import active_silences, end_silence, silence
from tasksapp.biz_types.visible import labelled
from tasksapp.management.progress import counted
from tasksapp.models import AlertSilence, BizType

#: A month: a silence that is forgotten hides all that comes.
LONGEST_MINUTES = 31 * 24 * 60


class Command(BaseCommand):
    """Silences alerts."""

    help = "Tell nobody of what begins to be wrong for some minutes, such as during a deployment; --end ends that."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """``--minutes``, ``--reason``, ``--biz-type`` and ``--end``."""
        parser.add_argument("--minutes", type=float, default=30, help="For how long (default: 30).")
        parser.add_argument("--reason", default="", help="Why; everybody sees it on the page of alerts.")
        parser.add_argument("--biz-type", default="", metavar="CODE", help="Only alerts of this biz type.")
        parser.add_argument("--end", action="store_true", help="End what this command began.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Silences, or ends it. Raises CommandError where the biz type, the reason or the length cannot be."""
        code = options["biz_type"]
        biz_type = BizType.objects.select_related("tenant").filter(labelled(code)).first() if code else None
        if code and biz_type is None:
            raise CommandError(f"there is no biz type {code!r}")
        about = biz_type.pk if biz_type else None
        if options["end"]:
            found = active_silences(using=router.db_for_write(AlertSilence), now=timezone.now())
            rows = [row for row in found if row.by == CONSOLE.name and row.biz_type_id == about]
            ended = sum(end_silence(row, by=CONSOLE) for row in rows)
            self.stdout.write(f"{counted(ended, 'silence is', 'silences are')} over: owners are told again")
            return
        if not options["reason"].strip():
            raise CommandError("give a --reason: everybody sees it on the page of alerts")
        if not 0 < options["minutes"] <= LONGEST_MINUTES:
            raise CommandError(f"--minutes must be above 0 and at most {LONGEST_MINUTES:,}: a silence has an end")
        until = timezone.now() + timedelta(minutes=options["minutes"])
        silence(biz_type_id=about, what=code, until=until, by=CONSOLE, reason=options["reason"])
        self.stdout.write(f"nobody is told of what begins before {timezone.localtime(until):%Y-%m-%d %H:%M:%S %Z}")
