"""Whether a moment is so long after something that a test did, however long a busy machine took for it."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

#: Clocks of this machine and of Redis differ by what a reply takes, and times of timers are whole ms.
CLOCKS_APART = timedelta(seconds=1)


def is_after(moment: datetime | None, *, seconds: float, since: datetime) -> bool:
    """Whether a moment is so many seconds after some moment between ``since`` and now."""
    if moment is None:
        return False
    began = moment - timedelta(seconds=seconds)
    return since - CLOCKS_APART <= began <= timezone.now() + CLOCKS_APART
