"""The record of what people and callers did to an operation, and of how it ended."""

from __future__ import annotations

from typing import Any

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.models import Operation


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
    """Writes one entry, in the transaction that the caller has open; none for the project's own code.

    Args:
        operation: the operation.
        deed: a deed of the audit, or ``operation.done``, ``operation.stopped`` or ``operation.failed``.
        by: who did it.
        using: the database.
        reason: why, in that person's words.
        before: what was, where something changed.
        after: what it is now.
    """
    if not audit.is_recorded(by):
        return
    entry = audit.entry(
        deed,
        by=by,
        biz_type_id=operation.biz_type_id,
        operation_id=operation.pk,
        what=f"operation {operation.pk}: {operation.verb}",
        before=before,
        after=after,
        reason=reason,
    )
    audit.record([entry], using=using)
