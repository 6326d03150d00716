"""Departure: what a site does with a tenant that leaves for another one."""

from __future__ import annotations

from typing import TypeVar

from django.db import models, transaction
from django.db.models import Exists, OuterRef

from tasksapp.access.actors import Actor
from tasksapp.biz_types import verbs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import InvalidExport, TenantChanged
from tasksapp.models import UNTIL_RESUMED, AnswerLink, ApiKey, Attempt, BizType, Job, MissingFollowUp, Status, Tenant
from tasksapp.models.api_key import MOVING
from tasksapp.transfer.exporter import CARRIED, Exporter, snapshot
from tasksapp.transfer.importer import IMPORTED, MOVED
from tasksapp.transfer.record import KINDS
from tasksapp.transfer.transfer_key import TransferKey

Row = TypeVar("Row", bound=models.Model)


class Departure:
    """Closes a tenant, and lets go of it once another site has all that it had.

    Args:
        tenant: who leaves.
        by: who does it, for the audit.
        using: the database.
    """

    def __init__(self, tenant: Tenant, *, by: Actor, using: str) -> None:
        self._tenant = tenant
        self._by = by
        self._using = using

    def close(self) -> None:
        """Takes no jobs and no requests of it any more, and begins no job. Done twice, it changes nothing."""
        self._close(MOVING, reason=MOVING)

    def is_closed(self) -> bool:
        """True if a move has begun here that neither let go of it nor went back."""
        return self._biz_types().filter(moved_to=MOVING).exists() or self._keys().filter(moved_to=MOVING).exists()

    def running(self) -> int:
        """How many of its jobs run."""
        return self._jobs(Status.RUNNING).count()

    def has_left(self) -> bool:
        """Whether :meth:`leave` was done, and it has not come back since."""
        here = self._keys().filter(moved_to="").exists() or self._biz_types().exclude(pause_reason=MOVED).exists()
        return not here

    def reopen(self) -> None:
        """Goes back: takes and begins jobs again, as before :meth:`close`. Done twice, it changes nothing."""
        self._close("", reason="it was not moved")

    def _close(self, moved_to: str, *, reason: str) -> None:
        # What a biz type is besides, such as disabled or paused, stays: nothing has to be remembered to go back.
        with transaction.atomic(using=self._using):
            self._keys().update(moved_to=moved_to)
            rows = self._biz_types().exclude(moved_to=moved_to)
            for biz_type in rows.select_for_update(no_key=True, of=("self",)):
                biz_type.moved_to = moved_to
                verbs.edit(biz_type, ["moved_to"], by=self._by, reason=reason)
            transaction.on_commit(biz_type_cache.clear, using=self._using)

    def leave(self, *, digest: str | None, moved_to: str | None) -> None:
        """Deletes all that another site has now. What has ended stays, with its biz types, which are shut.

        Args:
            digest: what :meth:`Exporter.digest` gave before that; None: whatever it is now.
            moved_to: what its keys are answered with, where it is; MOVING: only that it moves; None: keys go too.

        Raises TenantChanged where something of it has changed since, and DatabaseError where that is just happening.
        """
        # So that what changes meanwhile ends this with an error, and is not lost.
        with snapshot(using=self._using):
            # SQLite refuses to write where it has read first.
            self._mark(MOVING)
            exporter = Exporter(self._tenant, key=TransferKey(), using=self._using)
            if digest is not None and exporter.digest() != digest:
                raise TenantChanged(self._tenant.code)
            carried = self._jobs(*CARRIED)
            Attempt.objects.using(self._using).filter(job__in=carried)._raw_delete(self._using)
            carried._raw_delete(self._using)
            # Their addresses are this site's: its page says from now on that there is no such link.
            self._of(AnswerLink).delete()
            self._of(MissingFollowUp).delete()
            for kind in ("series", "paused_key", "tombstone", "idempotency_key"):
                self._of(KINDS[kind].model).delete()
            if moved_to is None:
                self._keys().delete()
            self._mark(moved_to or "")
            there = Exists(Job.objects.using(self._using).filter(biz_type=OuterRef("pk")))
            self._biz_types().exclude(there).delete()
            for biz_type in self._biz_types():
                biz_type.enabled, biz_type.paused_until = False, UNTIL_RESUMED
                biz_type.paused_by, biz_type.pause_reason = self._by.name, MOVED
                verbs.edit(biz_type, ["enabled", "paused_until", "paused_by", "pause_reason"], by=self._by)

    def undo(self) -> None:
        """Takes away what was imported and not opened yet. Raises InvalidExport where there is more than that."""
        at_work = self._biz_types().exclude(pause_reason__in=[IMPORTED, MOVED]).first()
        if at_work is not None:
            raise InvalidExport(f"biz type {at_work.code!r} is here already, and at work")
        self.leave(digest=None, moved_to=None)

    def _biz_types(self) -> models.QuerySet[BizType]:
        rows = BizType.objects.using(self._using).filter(tenant=self._tenant)
        return rows.select_related("tenant").order_by("pk")

    def _mark(self, moved_to: str) -> None:
        """Says where it is: to callers by its keys, and to all others by its biz types, whichever way they come."""
        self._keys().update(moved_to=moved_to)
        self._biz_types().update(moved_to=moved_to)
        transaction.on_commit(biz_type_cache.clear, using=self._using)

    def _keys(self) -> models.QuerySet[ApiKey]:
        return ApiKey.objects.using(self._using).filter(tenant=self._tenant)

    def _jobs(self, *statuses: Status) -> models.QuerySet[Job]:
        return self._of(Job).filter(status__in=statuses)

    def _of(self, model: type[Row]) -> models.QuerySet[Row]:
        ids = list(self._biz_types().values_list("pk", flat=True))
        return model._default_manager.using(self._using).filter(biz_type__in=ids)
