"""A tenant that moves between the databases of two sites: the road between them, and what is where."""

from __future__ import annotations

import subprocess
from io import StringIO
from pathlib import Path
from typing import IO, Any

from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp.access.actors import Actor
from tasksapp.models import BizType, Job, Tenant
from tasksapp.transfer.mover import Mover
from tasksapp.transfer.transfer_key import TransferKey

KEY = Fernet.generate_key().decode()
THERE = "https://c3.example"


class Killed(BaseException):
    """As kill -9 would end it."""


class Road:
    """Carries exports between the two sites, and ends the program at a given step.

    Args:
        folder: for the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.killed_at: int | None = None

    def run(self, command: list[str], *, stdin: IO[bytes], **options: Any) -> subprocess.CompletedProcess[str]:
        """In place of the command of the other site."""
        del options
        (self.folder / "sent").write_bytes(stdin.read())
        out = StringIO()
        (self.folder / "key").write_text(KEY)
        try:
            call_command(
                "import_jobs", str(self.folder / "sent"), "--key", str(self.folder / "key"), *command[2:],
                database=command[1], stdout=out,
            )  # fmt: skip
        except CommandError as error:
            return subprocess.CompletedProcess(command, 1, "", str(error))
        return subprocess.CompletedProcess(command, 0, out.getvalue(), "")

    def say(self, sentence: str) -> None:
        self.said.append(sentence)
        if self.killed_at is not None and len(self.said) > self.killed_at:
            raise Killed

    def mover(self, *, home: str = "default", to: str = THERE, file: str | None = None) -> Mover:
        other = "there" if home == "default" else "default"
        return Mover(
            Tenant.objects.using(home).get(code="acme"), file=self.folder / (file or f"{home}.ndjson"),
            there=["there", other],
            to=to, key=TransferKey(KEY), say=self.say, clock=SystemClock(), by=Actor("ada"), using=home,
        )  # fmt: skip


def open_sites() -> set[str]:
    """Where jobs of the tenant may begin."""
    rows = {site: BizType.objects.using(site).filter(tenant__code="acme") for site in ("default", "there")}
    return {site for site, found in rows.items() if any(not each.is_shut(now=timezone.now()) for each in found)}


def live(site: str) -> set[tuple[str, str]]:
    rows = Job.objects.using(site).filter(status__in=["pending", "dead"], biz_type__tenant__code="acme")
    return {(str(job.id), job.status) for job in rows}
