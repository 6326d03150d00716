"""Taking an alert: a person says that they see to it, which ends its reminders."""

from __future__ import annotations

from django.db import router, transaction
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.alerts import outbox
from tasksapp.alerts.book import Event, What
from tasksapp.alerts.composer import compose
from tasksapp.models import Alert, BizType


def take(alert: Alert, *, by: Actor) -> bool:
    """Notes who sees to an open alert, and tells those who were told of it; whether nobody had taken it before."""
    using, now = router.db_for_write(Alert), timezone.now()
    with transaction.atomic(using=using):
        rows = Alert.objects.using(using).filter(pk=alert.pk, ended_at=None, taken_at=None)
        if not rows.update(taken_at=now, taken_by=by.name):
            return False
        alert.taken_at, alert.taken_by = now, by.name
        about = alert.biz_type_id or None
        audit.record_deed(Deed.TAKE_ALERT, by=by, using=using, what=alert.sentence, biz_type_id=about)
        if alert.told_at is not None and not alert.is_quiet:
            known = BizType.objects.using(using).select_related("tenant").in_bulk([alert.biz_type_id])
            outbox.put(compose([Event(What.TAKEN, alert)], known, now=now), now=now, using=using)
    return True
