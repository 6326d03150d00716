"""Flow keys of a biz type: how many jobs of each wait, and which are paused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import router, transaction
from django.utils import timezone

from delayhub.engine import KeyCounts
from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.biz_types.gates import follow
from tasksapp.conf import options
from tasksapp.models import UNTIL_RESUMED, BizType, PausedKey
from tasksapp.models.conflicts import repeated
from tasksapp.sql import ordered_keys
from tasksapp.sql.ordered_keys import FirstJob, first_jobs_of
from tasksapp.timers.lanes import watched, watched_lane

#: What is known of one key.
KeyNumbers = KeyCounts

#: Keys that one look shows, and those of the line that it counts: the keys with due jobs come first there.
MOST_SHOWN, MOST_COUNTED = 50, 1_000
#: Blocked keys that one look shows.
MOST_BLOCKED = 200


class KeyLook(NamedTuple):
    """What is known of the flow keys of a biz type.

    Args:
        keys: those with most waiting timers, or the one that was asked for.
        is_whole: whether all keys were counted.
    """

    keys: Sequence[KeyCounts]
    is_whole: bool


def look_at_keys(biz_type: BizType, *, flow_key: str = "") -> KeyLook:
    """The flow keys with most jobs that are due, or due within the near window. Raises RedisError.

    Args:
        biz_type: the biz type.
        flow_key: the one to look at; '' for those with most.
    """

    def ask() -> KeyLook:
        lane = watched_lane(biz_type.timer_lane)
        if flow_key:
            return KeyLook(lane.count_keys(biz_type.queue, [flow_key]), is_whole=True)
        found = lane.count_keys(biz_type.queue, most=MOST_COUNTED)
        named = sorted((each for each in found if each.key), key=lambda each: (-each.waiting, each.key))
        return KeyLook(named[:MOST_SHOWN], is_whole=len(found) < MOST_COUNTED)

    return watched(ask)


def paused_keys(biz_type: BizType, *, most: int | None = None) -> list[PausedKey]:
    """The paused flow keys of the biz type, by name."""
    rows = PausedKey.objects.filter(biz_type_id=biz_type.pk, until__gt=timezone.now())
    return list(rows.order_by("flow_key")[:most])


def blocked_keys(biz_type: BizType, *, flow_key: str = "", most: int = MOST_BLOCKED) -> list[FirstJob]:
    """The first jobs of ordered flow keys, for which others wait: those that began as long ago as an alert waits.

    Args:
        biz_type: the biz type.
        flow_key: only this one, however long it has been the first; '' for all.
        most: how many at most, the oldest first.
    """
    using = router.db_for_read(BizType)
    if not biz_type.is_ordered:
        return []
    if flow_key:
        return first_jobs_of([(biz_type.pk, flow_key)], using=using)
    before = timezone.now() - timedelta(seconds=options().alert_overdue_seconds)
    return ordered_keys.blocked_keys(biz_type.pk, before=before, most=most, using=using)


@repeated
def pause_key(
    biz_type: BizType, flow_key: str, *, until: datetime = UNTIL_RESUMED, by: Actor | None = None, reason: str = ""
) -> None:
    """Holds the jobs of one flow key until then, or until somebody resumes it; those of other keys go on.

    Args:
        biz_type: the biz type.
        flow_key: the key, as :data:`tasksapp.jobs.requests.RULES` has it.
        until: when the pause ends.
        by: who does it, for the audit; None for the project's own code.
        reason: why.
    """
    using, now = router.db_for_write(PausedKey), timezone.now()
    with transaction.atomic(using=using):
        rows = PausedKey.objects.using(using).filter(biz_type_id=biz_type.pk)
        rows.filter(until__lte=now).exclude(flow_key=flow_key).delete()
        values = {
            "until": until,
            "paused_at": now,
            "paused_by": by.name if by else "",
            "reason": reason[: audit.REASON_LENGTH],
        }
        rows.update_or_create(biz_type_id=biz_type.pk, flow_key=flow_key, defaults=values)
        _record(Deed.PAUSE_KEY, biz_type, flow_key, by=by, reason=reason, until=until, using=using)
        follow(biz_type, using=using)


@repeated
def resume_key(biz_type: BizType, flow_key: str, *, by: Actor | None = None, reason: str = "") -> bool:
    """Lets the jobs of a paused flow key run again, at its limits; False where it was not paused."""
    using = router.db_for_write(PausedKey)
    with transaction.atomic(using=using):
        rows = PausedKey.objects.using(using).filter(biz_type_id=biz_type.pk, flow_key=flow_key)
        was_paused = rows.filter(until__gt=timezone.now()).exists()
        rows.delete()
        if was_paused:
            _record(Deed.RESUME_KEY, biz_type, flow_key, by=by, reason=reason, until=None, using=using)
        follow(biz_type, using=using)
    return was_paused


def _record(
    deed: Deed, biz_type: BizType, flow_key: str, *, by: Actor | None, reason: str, until: datetime | None, using: str
) -> None:
    after = {"flow_key": flow_key, "until": until.isoformat() if until else None}
    audit.record_deed(deed, by=by, using=using, biz_type_id=biz_type.pk, what=biz_type, after=after, reason=reason)
