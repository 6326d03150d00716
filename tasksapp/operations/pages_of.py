"""The pages of an operation: jobs that it changes, or occurrences that it makes."""

from __future__ import annotations

from tasksapp.models import Operation
from tasksapp.operations.backfill import Backfill
from tasksapp.operations.pages import Pages
from tasksapp.operations.verbs import BACKFILL


def pages_of(operation: Operation, *, biz_type_id: int, using: str) -> Pages | Backfill:
    """What the operation walks over, of one biz type."""
    if operation.verb == BACKFILL:
        return Backfill(operation, using=using)
    return Pages(operation, biz_type_id=biz_type_id, using=using)
