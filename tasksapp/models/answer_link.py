"""AnswerLink: an address by which a person answers a job that waits, once and without a login."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _

from delayhub.secrecy import Secrecy
from tasksapp.models.biz_type import BizType
from tasksapp.models.columns import marked, optional_text
from tasksapp.models.job import is_sealed_job
from tasksapp.models.sealable import SealableText
from tasksapp.models.sealed_value import seal_text


class AnswerLink(models.Model):
    """A link that was given to somebody. Its token is shown when it is made, and kept as a hash.

    What answers by it sets ``used_at`` in the transaction of the answer. It is deleted with its job.
    """

    biz_type: models.ForeignKey[Any, Any] = models.ForeignKey(
        BizType, on_delete=models.CASCADE, related_name="+", db_index=False, verbose_name=_("biz type")
    )
    job_id = models.UUIDField(_("job id"), db_index=True)
    hashed_token = marked(Secrecy.SECRET, models.CharField(_("hashed token"), max_length=64))
    question = SealableText(_("question"), blank=True, default="", db_default="")
    outcomes = models.JSONField(_("outcomes"), help_text=_("What may be answered."))
    given_to = models.CharField(_("given to"), max_length=100)
    expires_at = models.DateTimeField(_("expires at"))
    used_at = models.DateTimeField(_("used at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"))
    created_by = optional_text(_("created by"), longest=150)

    class Meta:
        db_table = "delayhub_answer_link"
        verbose_name = _("answer link")
        verbose_name_plural = _("answer links")
        constraints = [models.UniqueConstraint(fields=["hashed_token"], name="delayhub_answer_link_token")]

    def __str__(self) -> str:
        return self.given_to

    @property
    def is_sealed(self) -> bool:
        """Whether its job is encrypted at rest."""
        return is_sealed_job(self.job_id, using=self._state.db)

    @property
    def seal_place(self) -> str:
        """Where its question is encrypted for, before the name of the column."""
        return f"{self.biz_type_id}/answer link {self.hashed_token}"

    def seal(self) -> None:
        """Encrypts the question."""
        if self.question:
            self.question = seal_text(self.question, place=f"{self.seal_place}/question")
