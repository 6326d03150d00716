"""Silences: for a while nobody is told of what begins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import router, transaction
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.models import AlertSilence, BizType


def active_silences(*, using: str, now: datetime) -> Sequence[AlertSilence]:
    """The silences that are not over. Raises what the database raises."""
    return list(AlertSilence.objects.using(using).filter(until__gt=now))


def silence(
    *, biz_type: BizType | None, until: datetime, by: Actor, reason: str, kind: str = "", site_only: bool = False
) -> AlertSilence:
    """Tells nobody of what begins before ``until``; what is still wrong then is told then. Other alerts stay as told.

    Args:
        biz_type: whose alerts; None for those of the site and of all biz types.
        until: when it ends.
        by: who does it, for the audit.
        reason: why; everybody sees it on the page of alerts.
        kind: an :class:`AlertKind`; '' for all kinds.
        site_only: without a biz type, only alerts about the whole site.
    """
    using = router.db_for_write(AlertSilence)
    of_biz_type = biz_type.pk if biz_type else 0 if site_only else None
    row = AlertSilence(
        kind=kind, biz_type_id=of_biz_type, began_at=timezone.now(), until=until, by=by.name, reason=reason
    )
    with transaction.atomic(using=using):
        row.save(using=using)
        _record(Deed.SILENCE, row, by=by, using=using, what=biz_type.label if biz_type else "", after={"until": until})
    return row


def end_silence(row: AlertSilence, *, by: Actor) -> bool:
    """Ends it before its time; whether it had not ended yet."""
    using, now = router.db_for_write(AlertSilence), timezone.now()
    with transaction.atomic(using=using):
        if not AlertSilence.objects.using(using).filter(pk=row.pk, until__gt=now).update(until=now):
            return False
        _record(Deed.END_SILENCE, row, by=by, using=using, before={"until": row.until}, after={"until": now})
    return True


def _record(deed: Deed, row: AlertSilence, *, by: Actor, using: str, what: str = "", **details: Any) -> None:
    of_biz_type = {"biz_type_id": row.biz_type_id} if row.biz_type_id else {}
    audit.record_deed(deed, by=by, using=using, what=what, reason=row.reason, **of_biz_type, **details)
