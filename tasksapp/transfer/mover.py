"""Mover: brings a tenant to another site, step by step; ended at any of them, it goes on, or back."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from django.db import OperationalError

from delayhub.clock import Clock
from tasksapp.access.actors import Actor
from tasksapp.errors import MoveFailed, TenantChanged
from tasksapp.models import Tenant
from tasksapp.models.api_key import MOVING
from tasksapp.sql.catalogue import open_writers
from tasksapp.transfer.departure import Departure
from tasksapp.transfer.exporter import Exporter
from tasksapp.transfer.transfer_key import TransferKey

#: How often the jobs that still run are counted, and how long that goes on.
LOOK_SECONDS, DRAIN_SECONDS = 0.5, 900.0
#: How often a move begins again because something was changed meanwhile.
MOST_ROUNDS = 3


@dataclass
class Progress:
    """How far a move has come, kept in a file beside the export.

    Args:
        tenant: its code.
        left: whether this site has let go of it: from then on there is no way back.
    """

    tenant: str
    left: bool = False


class Mover:
    """Moves one tenant.

    Args:
        tenant: who moves.
        file: where the export is written; its progress stands beside it.
        there: the command that runs ``import_jobs - --key …`` on the other site, and reads an export.
        to: the other site's address, which callers are sent to; '' for none: the proxy sends them.
        key: what secrets are encrypted with on their way.
        say: is told of each step, in a sentence.
        clock: measures how long jobs run on.
        by: who does it, for the audit.
        using: the database.
    """

    def __init__(
        self,
        tenant: Tenant,
        *,
        file: Path,
        there: Sequence[str],
        to: str,
        key: TransferKey,
        say: Callable[[str], object],
        clock: Clock,
        by: Actor,
        using: str,
    ) -> None:
        self._tenant, self._file, self._there, self._to, self._key = tenant, file, there, to, key
        self._say, self._clock, self._by, self._using = say, clock, by, using
        self._departure = Departure(tenant, by=by, using=using)
        self._kept = file.with_name(f"{file.name}.move")

    def move(self) -> None:
        """Goes all steps that are left. Raises MoveFailed, which says what to do."""
        progress = self._read()
        if progress is None:
            if self._departure.has_left():
                raise MoveFailed(
                    f"{self._tenant.code} is not here: it was moved to another site. Where it is not open there, run"
                    " import_jobs with the export and --open there"
                )
            progress = Progress(self._tenant.code)
            self._keep(progress)
        # It may have ended between the two.
        if not (progress.left or self._departure.has_left()):
            self._hand_over(progress)
        self._run("opened there", "--open")
        self._kept.unlink(missing_ok=True)

    def back(self) -> None:
        """Undoes what was done so far. Raises MoveFailed where it is too late."""
        progress = self._read()
        if progress is None and not self._departure.is_closed():
            raise MoveFailed("no move of it has begun here")
        if (progress is not None and progress.left) or self._departure.has_left():
            raise MoveFailed("this site has let go of it already: go on, and move it back from there")
        # Whatever the other site says: what it has is paused, and the next move takes that away first.
        self._departure.reopen()
        self._say("open here again")
        if self._file.exists():
            try:
                self._run("taken away there", "--undo")
            except MoveFailed as error:
                raise MoveFailed(f"{error}. It is open here; run --back again to take away what is there") from None
        self._kept.unlink(missing_ok=True)

    def _hand_over(self, progress: Progress) -> None:
        self._departure.close()
        self._say("closed here: its callers are asked to come again, and no job of it begins")
        for _round in range(MOST_ROUNDS):
            self._drain()
            digest = self._export()
            # An earlier move may have ended there, and its copies be older than what is here now.
            self._run("", "--undo")
            self._run("imported there, paused", "--paused")
            self._await_writers()
            try:
                self._departure.leave(digest=digest, moved_to=self._to or MOVING)
            except (TenantChanged, OperationalError) as error:
                self._say(f"{error}: once more")
                continue
            self._keep(Progress(progress.tenant, left=True))
            self._say("let go here")
            return
        raise MoveFailed(f"something of it was changed in each of {MOST_ROUNDS} rounds: end what changes it")

    def _drain(self) -> None:
        deadline = self._clock.monotonic() + DRAIN_SECONDS
        while running := self._departure.running():
            if self._clock.monotonic() > deadline:
                raise MoveFailed(
                    f"{running:,} of its jobs still run after {DRAIN_SECONDS:.0f} s: go on later, or --back"
                )
            time.sleep(LOOK_SECONDS)

    def _await_writers(self) -> None:
        """Waits for transactions that may have made jobs of it before it was closed: no export has those."""
        deadline = self._clock.monotonic() + DRAIN_SECONDS
        left = open_writers(using=self._using)
        while left := left & open_writers(using=self._using):
            if self._clock.monotonic() > deadline:
                raise MoveFailed(
                    f"{len(left):,} transactions that wrote jobs are open since {DRAIN_SECONDS:.0f} s: end them and go"
                    " on, or --back"
                )
            time.sleep(LOOK_SECONDS)

    def _export(self) -> str:
        """Writes the export; gives what it is known by again."""
        # First: what is changed from now on is found by it.
        digest = Exporter(self._tenant, key=TransferKey(), using=self._using).digest()
        exporter = Exporter(self._tenant, key=self._key, using=self._using)
        unfinished = self._file.with_name(f"{self._file.name}.part")
        with unfinished.open("w", encoding="utf-8") as out:
            out.writelines(exporter.lines())
        if self._key.left_out:
            raise MoveFailed("there are secrets: give --key, and the same to the command that imports")
        unfinished.replace(self._file)
        self._say(f"exported: {exporter.counts.total():,} rows")
        return digest

    def _run(self, done: str, *options: str) -> None:
        command = [*self._there, *options]
        try:
            with self._file.open("rb") as export:
                ended = subprocess.run(command, stdin=export, capture_output=True, text=True, check=False)  # noqa: S603  the operator's own
        except OSError as error:
            raise MoveFailed(f"the other site cannot be asked: {error}") from None
        if ended.returncode:
            said = (ended.stderr or ended.stdout).strip()[-2_000:]
            raise MoveFailed(f"the other site said, with exit code {ended.returncode}: {said}")
        if done:
            self._say(f"{done}: {ended.stdout.strip()}")

    def _read(self) -> Progress | None:
        try:
            kept = json.loads(self._kept.read_text())
            progress = Progress(kept["tenant"], left=kept["left"])
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as error:
            raise MoveFailed(f"{self._kept} cannot be read: {error}") from None
        if progress.tenant != self._tenant.code:
            raise MoveFailed(f"{self._kept} is about a move of {progress.tenant!r}")
        return progress

    def _keep(self, progress: Progress) -> None:
        unfinished = self._kept.with_name(f"{self._kept.name}.part")
        unfinished.write_text(json.dumps(asdict(progress)))
        unfinished.replace(self._kept)
