"""Django's own log, which the admin's first page shows as a person's recent actions."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.http import HttpRequest

from tasksapp.models import Job


def note_single(request: HttpRequest, ids: Sequence[UUID], *, changed: int, deed: str) -> None:
    """Logs what a person did to one job. Of what is done to several at once the audit has an entry each.

    Args:
        request: of the person.
        ids: the jobs that the person chose.
        changed: how many of them were changed.
        deed: what was done; in English, since others read it in languages of their own.
    """
    if len(ids) == 1 and changed == 1 and request.user.pk is not None:
        job = Job.objects.defer("body", "raw").filter(id=ids[0])
        LogEntry.objects.log_actions(request.user.pk, job, CHANGE, change_message=deed, single_object=True)
