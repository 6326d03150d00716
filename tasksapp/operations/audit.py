"""The record of what people and callers did to an operation, and of how it ended."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from tasksapp.access.actors import Actor
from tasksapp.models import AuditEntry, Operation


def record_deed(
    operation: Operation,
    deed: str,
    *,
    by: Actor,
    using: str,
    reason: str = "",
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Writes one entry, in the transaction that the caller has open.

    Args:
        operation: the operation.
        deed: ``planned``, ``started``, ``stopped``, ``repaced``, ``done`` or ``failed``.
        by: who did it.
        using: the database.
        reason: why, in that person's words.
        before: what was, where something changed.
        after: what it is now.
    """
    AuditEntry.objects.using(using).create(
        at=timezone.now(),
        actor=by.name,
        address=by.address,
        verb=f"operation.{deed}",
        biz_type_id=operation.biz_type_id,
        operation_id=operation.pk,
        what=f"{operation.get_verb_display()}: operation {operation.pk}"[:200],
        before=before or {},
        after=after or {},
        reason=reason,
    )
