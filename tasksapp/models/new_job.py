"""NewJob: what is decided about a job before it is there, and the columns that it has in common with a series."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _

from tasksapp.models.columns import optional_text


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


class Carried(models.Model):
    """The columns that a job and a series have alike: what is carried, and how it is tried. A series hands them on."""

    biz_id = models.CharField(_("biz id"), max_length=200, blank=True)
    flow_key = optional_text(
        _("flow key"),
        longest=100,
        help_text=_("Whose job it is, such as a customer: keys of a biz type share it fairly."),
    )
    request = models.TextField(
        _("request"),
        blank=True,
        default="",
        db_default="",
        help_text=_("What its request has of its own: timeout, headers, URL. Secrets in it are encrypted."),
    )
    body = models.TextField(_("body"), help_text=_("The exact JSON text that is signed and sent."))
    raw = models.BinaryField(
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
