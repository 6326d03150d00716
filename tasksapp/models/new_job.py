"""NewJob: what is decided about a job before it is there, and the columns that it has in common with a series."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.columns import optional_text
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.sealable import SealableBytes, SealableText, stored
from tasksapp.models.sealed_value import MARK, is_sealed, seal_bytes, seal_text


class NewJob(NamedTuple):
    """The columns of a job that its creator decides; ``tasksapp.sql`` makes its statements from these names.

    ``place``: among the jobs of its flow key; None where they are in no order.

    A column that callers may give stands here, in :class:`Carried` (in ``Job``, where a series has none), and as a
    field of ``tasksapp.jobs.JobRequest``.
    """

    id: UUID
    biz_type_id: int
    due_at: datetime
    priority: int
    place: int | None = None
    biz_id: str = ""
    body: str = "null"
    max_attempts: int | None = None
    traceparent: str = ""
    debounce_key: str = ""
    expires_at: datetime | None = None
    flow_key: str = ""
    request: str = ""
    raw: bytes | None = None


def sealed_job(job: NewJob) -> NewJob:
    """The same with what it carries encrypted for its row."""
    place = seal_place(job.biz_type_id, job.id)
    return job._replace(**sealed_content(place, body=job.body, raw=job.raw, request=job.request))


def seal_place(biz_type_id: int, row: UUID | str) -> str:
    """Where values of a row are encrypted for, before the name of their column; a biz type stays with its tenant."""
    return f"{biz_type_id}/{row}"


def sealed_content(place: str, *, body: str, raw: bytes | memoryview | None, request: str) -> dict[str, Any]:
    """What a job or a series carries, by its columns, encrypted for that place.

    ``request`` is the mark of such rows too: of one that has nothing of its own it is ``MARK``, so that rows that are
    not encrypted have no column for that.
    """
    return {
        # Of exact bytes it says nothing.
        "body": seal_text(body, place=f"{place}/body") if raw is None else body,
        "raw": None if raw is None else seal_bytes(bytes(raw), place=f"{place}/raw"),
        "request": seal_text(request, place=f"{place}/request") if request else MARK,
    }


class Carried(models.Model):
    """The columns that a job and a series have alike: what is carried, and how it is tried. A series hands them on."""

    biz_id = models.CharField(_("biz id"), max_length=200, blank=True)
    flow_key = optional_text(
        _("flow key"),
        longest=100,
        help_text=_("Whose job it is, such as a customer: keys of a biz type share it fairly."),
    )
    request = SealableText(
        _("request"),
        blank=True,
        default="",
        db_default="",
        help_text=_("What its request has of its own: timeout, headers, URL. Secrets in it are encrypted."),
    )
    body = SealableText(_("body"), help_text=_("The exact JSON text that is signed and sent."))
    raw = SealableBytes(
        _("exact bytes"),
        null=True,
        blank=True,
        help_text=_("The body of a job that is no JSON, byte for byte; empty: the body is JSON."),
    )
    priority = models.PositiveSmallIntegerField(_("priority"), default=5)
    max_attempts = models.PositiveIntegerField(
        _("max attempts"), null=True, blank=True, help_text=_("Empty: as the biz type says.")
    )

    class Meta:
        abstract = True

    @property
    def is_sealed(self) -> bool:
        """Whether what it carries is encrypted at rest."""
        return is_sealed(stored(self, "request"))

    @property
    def seal_place(self) -> str:
        """Where its values are encrypted for, before the name of their column."""
        raise NotImplementedError

    def blank_unreadable(self) -> bool:
        """Whether it has to be shown without what it carries, since no key opens that; the instance then has none."""
        try:
            _ = self.body, self.raw, self.request
        except SecretUnreadable:
            vars(self).update(body="null", raw=None, request=MARK)
            return True
        return False

    def seal(self) -> dict[str, Any]:
        """Encrypts what it carries, as it is now; gives back the columns that are to be stored."""
        sealed = sealed_content(self.seal_place, body=self.body, raw=self.raw, request=self.request)
        vars(self).update(sealed)
        return sealed
