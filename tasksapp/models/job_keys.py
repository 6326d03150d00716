"""What is kept of keys that jobs carry: paused and ordered flow keys, resolved business keys, and idempotency keys."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.biz_type import BizType
from tasksapp.models.columns import optional_text
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.job import FOLLOW_UP
from tasksapp.models.sealable import SealableText
from tasksapp.models.sealed_value import seal_text


class PausedKey(models.Model):
    """A flow key of a biz type that a person paused."""

    biz_type: models.ForeignKey[Any, Any] = models.ForeignKey(
        BizType, on_delete=models.CASCADE, related_name="+", db_index=False, verbose_name=_("biz type")
    )
    flow_key = models.CharField(_("flow key"), max_length=100)
    until = models.DateTimeField(_("paused until"))
    paused_at = models.DateTimeField(_("paused at"))
    paused_by = optional_text(_("paused by"), longest=150)
    reason = optional_text(_("pause reason"), longest=500)

    class Meta:
        db_table = "delayhub_paused_key"
        verbose_name = _("paused flow key")
        verbose_name_plural = _("paused flow keys")
        constraints = [models.UniqueConstraint(fields=["biz_type", "flow_key"], name="delayhub_paused_key_once")]

    def __str__(self) -> str:
        return self.flow_key


class OrderedKey(models.Model):
    """A flow key whose jobs run one after the other. What gives a place in it, or takes a job of it, locks its row.

    ``place`` is the last one that was given; ``begun`` and ``begun_due_at`` are the job that was taken last, and its
    due time then; ``begun_at`` is when it was taken first, which is also its turn. Until that job is over or is moved
    to another time, it is the first, whatever came meanwhile. No index has any of them, so that their changes stay on
    the row's page.
    """

    biz_type: models.ForeignKey[Any, Any] = models.ForeignKey(
        BizType, on_delete=models.CASCADE, related_name="+", db_index=False, verbose_name=_("biz type")
    )
    flow_key = models.CharField(_("flow key"), max_length=100)
    place = models.BigIntegerField(_("place"))
    begun = models.UUIDField(_("begun"), null=True)
    begun_due_at = models.DateTimeField(_("due at"), null=True)
    begun_at = models.DateTimeField(_("began at"), null=True)

    class Meta:
        db_table = "delayhub_ordered_key"
        verbose_name = _("ordered flow key")
        verbose_name_plural = _("ordered flow keys")
        constraints = [models.UniqueConstraint(fields=["biz_type", "flow_key"], name="delayhub_ordered_key_once")]

    def __str__(self) -> str:
        return self.flow_key


class Keyed(Protocol):
    """A job, or a part of its row, as far as a tombstone of its business key asks about it."""

    @property
    def id(self) -> UUID: ...

    @property
    def biz_type_id(self) -> int: ...

    @property
    def biz_id(self) -> str: ...

    @property
    def created_at(self) -> datetime: ...

    @property
    def created_by(self) -> str: ...


class Tombstone(models.Model):
    """What the claim finds for a job whose business key was resolved: the job is cancelled.

    It holds for each job that was created before ``until``, also where the job's transaction committed later; of
    follow-ups only those from before ``at``, since an answer to a plan may not call off what follows from it. It is
    pruned after ``until``, together with the jobs that it still held.

    Where jobs of its biz type wait for answers, it has one: ``outcome`` is not empty then.
    """

    biz_type = models.ForeignKey(
        BizType, on_delete=models.CASCADE, related_name="+", db_index=False, verbose_name=_("biz type")
    )
    biz_id = models.CharField(_("biz id"), max_length=200)
    at = models.DateTimeField(_("resolved at"))
    until = models.DateTimeField(_("until"), db_index=True, help_text=_("Jobs created before do not fire."))
    by = optional_text(_("by"), longest=150)
    outcome = optional_text(_("outcome"), longest=100, help_text=_("What was answered; empty: nothing."))
    answer = SealableText(
        _("answer"), blank=True, default="", db_default="", help_text=_("What the answer says beside that, as JSON.")
    )
    answered_job = models.UUIDField(
        _("answered job"), null=True, blank=True, help_text=_("The job that the answer was for; no other takes it.")
    )

    class Meta:
        db_table = "delayhub_tombstone"
        verbose_name = _("tombstone")
        verbose_name_plural = _("tombstones")
        constraints = [models.UniqueConstraint(fields=["biz_type", "biz_id"], name="delayhub_tombstone_once")]

    def __str__(self) -> str:
        return self.biz_id

    @property
    def seal_place(self) -> str:
        """Where its answer is encrypted for, before the name of the column."""
        return f"{self.biz_type_id}/answer of {self.biz_id}"

    @property
    def readable_answer(self) -> str:
        """The answer; ``null`` where there is none, or no key opens it."""
        try:
            return self.answer or "null"
        except SecretUnreadable:
            return "null"

    def seal(self) -> None:
        """Encrypts the answer."""
        if self.answer:
            self.answer = seal_text(self.answer, place=f"{self.seal_place}/answer")

    def holds(self, job: Keyed) -> bool:
        """Whether a job of its business key does not fire. Statements in ``tasksapp.sql`` have the same rule."""
        return self.until > job.created_at and (job.created_by != FOLLOW_UP or self.at > job.created_at)


class IdempotencyKey(models.Model):
    """A key that a caller sent with a request. It has a table of its own, so that it outlives a job that is purged."""

    biz_type = models.ForeignKey(BizType, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64, help_text="SHA-256 of the canonical request.")
    job_id = models.UUIDField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "delayhub_idempotency_key"
        verbose_name = "idempotency key"
        constraints = [models.UniqueConstraint(fields=["biz_type", "key"], name="delayhub_idempotency_key_once")]

    def __str__(self) -> str:
        return self.key
