"""Status: where a job stands."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Status(models.TextChoices):
    """Where a job stands; :class:`tasksapp.models.transition.Transition` says what may follow what."""

    PENDING = "pending", _("pending")
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("succeeded")
    CANCELLED = "cancelled", _("cancelled")
    SKIPPED = "skipped", _("skipped")
    DEAD = "dead", _("dead")
    DROPPED = "dropped", _("dropped")


#: Statuses of jobs that may still fire.
LIVE = (Status.PENDING, Status.RUNNING)
#: Statuses in which retention may delete the row. That includes dead: a dead job waits for a person, but not for ever.
FINISHED = (Status.SUCCEEDED, Status.CANCELLED, Status.SKIPPED, Status.DEAD, Status.DROPPED)
