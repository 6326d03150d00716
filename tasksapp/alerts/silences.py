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
from tasksapp.models import AlertSilence


def active_silences(*, using: str, now: datetime) -> Sequence[AlertSilence]:
    """The silences that are not over. Raises what the database raises."""
    return list(AlertSilence.objects.using(using).filter(until__gt=now))


def silence(
    *, biz_type_id: int | None, until: datetime, by: Actor, reason: str, kind: str = "", what: str = ""
) -> AlertSilence:
    """Tells nobody of what begins before ``until``; what is still wrong then is told then. Other alerts stay as told.

    Args:
        biz_type_id: whose alerts; 0 for those of the site itself, None for those of the site and of all biz types.
        until: when it ends.
        by: who does it, for the audit.
        reason: why; everybody sees it on the page of alerts.
        kind: an :class:`AlertKind`; '' for all kinds.
        what: the name of the biz type, for the audit.
    """
    using = router.db_for_write(AlertSilence)
    row = AlertSilence(
        kind=kind, biz_type_id=biz_type_id, began_at=timezone.now(), until=until, by=by.name, reason=reason
    )
    with transaction.atomic(using=using):
        row.save(using=using)
        _record(Deed.SILENCE, row, by=by, using=using, what=what, after={"until": until})
    return row


def end_silence(row: AlertSilence, *, by: Actor) -> bool:
    """Ends it before its time; whether it had not ended yet."""
    using, now = router.db_for_write(AlertSilence), timezone.now()
    with transaction.atomic(using=using):
        if not AlertSilence.objects.using(using).filter(pk=row.pk, until__gt=now).update(until=now):
            return False
        _record(Deed.END_SILENCE, row, by=by, using=using, before={"until": row.until}, after={"until": now})
    return True


def _record(deed: Deed, row: AlertSilence, *, by: Actor, using: str, **details: Any) -> None:
    about = {"what": "", "biz_type_id": row.biz_type_id or None, "reason": row.reason, **details}
    audit.record_deed(deed, by=by, using=using, **about)
