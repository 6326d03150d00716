"""What is wrong with the whole site: Redis away, no job delivered, jobs late."""

from __future__ import annotations

from datetime import timedelta

from tasksapp.alerts.condition import CONFIRM, Condition, Judgement
from tasksapp.models import AlertKind
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState

#: States in which jobs are delivered, but late.
_LATE = frozenset({DeliveryState.OTHER_REDIS, DeliveryState.NO_LOADER, DeliveryState.LOADER_FAILS})
_KINDS = frozenset({AlertKind.REDIS_AWAY, AlertKind.NOT_DELIVERING, AlertKind.LATE_DELIVERY})


def site_judgement(health: DeliveryHealth, *, confirm: timedelta = CONFIRM) -> Judgement:
    """What is wrong with the site.

    While Redis is away, whether workers live is not known: what was open of that stays open, and nothing is added.

    Args:
        health: what was found; not that the database is away, which its outage record has.
        confirm: how long missing workers must be missing.
    """
    match health.state:
        case DeliveryState.OK:
            return Judgement(kinds=_KINDS)
        case DeliveryState.DATABASE_AWAY:
            return Judgement()
        case DeliveryState.REDIS_AWAY:
            return Judgement(
                conditions=[Condition(kind=AlertKind.REDIS_AWAY, facts={"detail": health.detail})],
                kinds=frozenset({AlertKind.REDIS_AWAY}),
            )
    kind = AlertKind.LATE_DELIVERY if health.state in _LATE else AlertKind.NOT_DELIVERING
    facts = {"state": health.state.value, "detail": health.detail}
    return Judgement(conditions=[Condition(kind=kind, facts=facts, confirm=confirm)], kinds=_KINDS)
