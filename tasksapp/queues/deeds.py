"""What people did to messages of Celery, for the audit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import router

from tasksapp.access.actors import Actor
from tasksapp.access.audit import WHAT_LENGTH, entry, record
from tasksapp.models import AuditEntry
from tasksapp.queues.celery_broker import Outcome, Place, QueueVerb

#: Ids of messages that one entry names at most.
NAMED_IDS = 20


def record_deed(
    verb: QueueVerb,
    queue: str,
    outcome: Outcome,
    *,
    by: Actor,
    place: Place,
    ids: Sequence[str] | None,
    due_at: datetime | None = None,
    target: str = "",
    reason: str = "",
) -> None:
    """Records what was done. Messages are in Redis, so this is written after it, in a transaction of its own.

    Args:
        verb: what was done.
        queue: the queue.
        outcome: to how many messages.
        by: who did it.
        place: where the messages were.
        ids: which were named; None for a whole place.
        due_at: their new time.
        target: their new queue.
        reason: why, in the words of the person.
    """
    after: dict[str, object] = {"place": place.value, "done": outcome.done, "left": outcome.left}
    if ids is not None:
        after["ids"] = list(ids[:NAMED_IDS])
    if due_at is not None:
        after["due_at"] = due_at
    if target:
        after["queue"] = target
    told = entry(f"queue.{verb}", by=by, what=queue[:WHAT_LENGTH], after=after, reason=reason)
    record([told], using=router.db_for_write(AuditEntry))


def record_freed_key(queue: str, key: str, *, holder: str, by: Actor, reason: str = "") -> None:
    """Records that a unique key was freed. It is kept as a body is: it is made of a task's arguments.

    Args:
        queue: the queue.
        key: the key.
        holder: the message that had it.
        by: who freed it.
        reason: why, in the words of the person.
    """
    after = {"ids": [holder], "unique_key": key}
    told = entry("queue.free_key", by=by, what=queue[:WHAT_LENGTH], after=after, reason=reason)
    record([told], using=router.db_for_write(AuditEntry))
