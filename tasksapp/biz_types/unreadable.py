"""Biz types of which something cannot be decrypted: their jobs wait for the key, none is tried and none dies of it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from tasksapp.biz_types import verbs
from tasksapp.models import BizType

logger = logging.getLogger(__name__)

#: So long its jobs wait; then some are taken again, to see whether the key is back. A hold that ended lately counts,
#: so that between two of them nothing seems to be well.
HOLD, LATELY = timedelta(seconds=60), timedelta(seconds=120)
#: The reason of the pause, by which it is known.
REASON = "no key of ENCRYPTION_KEYS opens what its jobs carry, or its secrets: bring the key back"


def hold(biz_types: Iterable[BizType], *, using: str) -> None:
    """Pauses each for a while, unless it is paused already."""
    rows = BizType.objects.using(using)
    for number in sorted({biz_type.pk for biz_type in biz_types}):
        now = timezone.now()
        with transaction.atomic(using=using):
            # By a statement that waits for a person who pauses it at this moment, and leaves it then as they want it.
            free = rows.filter(Q(paused_until=None) | Q(paused_until__lte=now), pk=number)
            if not free.update(pause_reason=REASON):
                continue
            row = rows.select_related("tenant").get(pk=number)
            logger.error("%s is held: %s", row.label, REASON, extra={"action": "hold", "biz_type": row.code})
            verbs.pause(row, until=now + HOLD, reason=REASON)


def is_held(biz_type: BizType, *, now: datetime) -> bool:
    """Whether it is held for that, or was until just now."""
    ends = biz_type.paused_until
    return biz_type.pause_reason == REASON and ends is not None and ends > now - LATELY
