"""Counts jobs that died without an outcome of their own, for the operations that changed them last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from django.db.models import F

from tasksapp.models import Job, Operation, Transition

_DEAD = Transition.EXPIRE.target


def count_dead(ids: Sequence[UUID], *, using: str) -> None:
    """Adds those of the jobs that are dead to their operations: the claim or the loader ended them, not a worker."""
    dead = Job.objects.using(using).filter(id__in=ids, status=_DEAD, operation_id__isnull=False)
    counts = Counter(owner for owner in dead.values_list("operation_id", flat=True) if owner is not None)
    for operation_id, count in sorted(counts.items()):
        Operation.objects.using(using).filter(pk=operation_id).update(dead=F(_DEAD.value) + count)
