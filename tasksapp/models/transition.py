"""Transition: the changes of status that exist. Every statement that writes a status names one of them."""

from __future__ import annotations

from enum import Enum

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


class Transition(Enum):
    """One change of a job's status: from where, by which verb, to where, and when that happens.

    It stands with the models, below ``tasksapp.sql``, because most changes are made by SQL statements.
    """

    CLAIM = Status.PENDING, "claim", Status.RUNNING, "due, and a worker or a puller takes it"
    CANCEL = Status.PENDING, "cancel", Status.CANCELLED, "a caller or a person cancels it"
    RESOLVE = Status.PENDING, "resolve", Status.CANCELLED, "its business key was resolved"
    RESCHEDULE = Status.PENDING, "reschedule", Status.PENDING, "a caller or a person gives it another time"
    RUN_NOW = Status.PENDING, "run now", Status.PENDING, "a caller or a person makes it due at once"
    REPLACE = Status.PENDING, "replace", Status.PENDING, "a later request with its debounce key takes its place"
    SKIP = Status.PENDING, "skip", Status.SKIPPED, "too late, and its biz type says skip"
    EXPIRE = Status.PENDING, "expire", Status.DEAD, "too late, or its age is used up"
    SUCCEED = Status.RUNNING, "succeed", Status.SUCCEEDED, "the receiver took it, or its puller did it"
    RETRY = Status.RUNNING, "retry", Status.PENDING, "the attempt failed; again after the backoff"
    RESOLVE_RETRY = Status.RUNNING, "resolve", Status.CANCELLED, "the attempt failed, and its business key was resolved"
    GIVE_UP = Status.RUNNING, "give up", Status.DEAD, "permanent failure, or attempts or age used up"
    GIVE_BACK = Status.RUNNING, "give back", Status.PENDING, "not sent after all, or snoozed: no attempt is used"
    OVERLAP = Status.RUNNING, "skip", Status.SKIPPED, "not sent after all: its series has a live one"
    LOSE = Status.RUNNING, "lose", Status.PENDING, "the lease of its worker or puller ran out: no attempt is used"
    LOSE_FOR_GOOD = Status.RUNNING, "lose", Status.DEAD, "the same, where it may be tried once only, or too often"
    REDRIVE = Status.DEAD, "redrive", Status.PENDING, "a caller or a person gives it a new budget of attempts"
    DROP = Status.DEAD, "drop", Status.DROPPED, "a caller or a person gives it up for good"

    def __init__(self, source: Status, verb: str, target: Status, why: str) -> None:
        self.source = source
        self.verb = verb
        self.target = target
        self.why = why
