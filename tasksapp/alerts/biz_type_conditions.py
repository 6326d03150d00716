"""What is wrong with single biz types: their receiver is down, their jobs are overdue, their jobs die."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Sum

from tasksapp.alerts.condition import Condition, Judgement
from tasksapp.biz_types.breaker import Breaker, callback_host
from tasksapp.biz_types.holds import open_breakers
from tasksapp.conf import options
from tasksapp.models import AlertKind, BizType, JobCount, Pulse
from tasksapp.stats.pulses import MINUTE, floor

#: Counts of the loader that are older say nothing about now.
FRESH = timedelta(seconds=60)
#: A breaker was open for some failures already; deaths are final; counts are made every ten seconds.
_AT_ONCE = timedelta()
#: Kinds of errors that one alert names.
NAMED_ERRORS = 5


def biz_type_judgement(*, now: datetime, using: str) -> Judgement:
    """What is wrong with biz types, on a site that delivers. Raises what the database raises.

    Args:
        now: the present.
        using: the database.
    """
    biz_types = list(BizType.objects.using(using).select_related("tenant").order_by("id"))
    counts = {row.biz_type_id: row for row in JobCount.objects.using(using).filter(counted_at__gte=now - FRESH)}
    breakers = open_breakers(biz_types)
    found = _dying(biz_types, counts, now=now, using=using)
    kinds = {AlertKind.DEAD}
    if breakers is not None:
        kinds.add(AlertKind.BREAKER_OPEN)
        found += [
            _down(biz_type) for biz_type in biz_types if biz_type.queue in breakers and not biz_type.is_shut(now=now)
        ]
        if counts or not biz_types:
            kinds.add(AlertKind.OVERDUE)
            found += _overdue(biz_types, counts, breakers, now=now)
    return Judgement(conditions=found, kinds=frozenset(kinds))


def _down(biz_type: BizType) -> Condition:
    facts = {"biz_type": biz_type.label, "host": callback_host(biz_type)}
    return Condition(kind=AlertKind.BREAKER_OPEN, biz_type_id=biz_type.pk, facts=facts, confirm=_AT_ONCE)


def _overdue(
    biz_types: Sequence[BizType], counts: Mapping[int, JobCount], breakers: Mapping[str, Breaker], *, now: datetime
) -> list[Condition]:
    """Not those of a biz type that is paused, disabled, or whose receiver is down: that is known, and told."""
    before = now - timedelta(seconds=options().alert_overdue_seconds)
    found = []
    for biz_type in biz_types:
        count = counts.get(biz_type.pk)
        if count is None or not count.due_now or biz_type.is_shut(now=now) or biz_type.queue in breakers:
            continue
        if count.oldest_due_at is not None and count.oldest_due_at < before:
            facts = {"biz_type": biz_type.label, "due": count.due_now, "oldest": count.oldest_due_at.isoformat()}
            found.append(Condition(kind=AlertKind.OVERDUE, biz_type_id=biz_type.pk, facts=facts))
    return found


def _dying(
    biz_types: Sequence[BizType], counts: Mapping[int, JobCount], *, now: datetime, using: str
) -> list[Condition]:
    since = floor(now - timedelta(seconds=options().alert_calm_seconds), MINUTE)
    rows = Pulse.objects.using(using).filter(span_seconds=MINUTE, kind=Pulse.Kind.DEAD, at__gte=since).order_by()
    died: dict[int, Counter[str]] = defaultdict(Counter)
    for biz_type_id, error_class, number in rows.values_list("biz_type_id", "key").annotate(Sum("count")):
        died[biz_type_id][error_class] += number
    return [
        Condition(
            kind=AlertKind.DEAD,
            biz_type_id=biz_type.pk,
            facts={
                "biz_type": biz_type.label,
                "died": died[biz_type.pk].total(),
                "minutes": max(1, round(options().alert_calm_seconds / MINUTE)),
                "dead": counts[biz_type.pk].dead if biz_type.pk in counts else None,
                "errors": dict(died[biz_type.pk].most_common(NAMED_ERRORS)),
            },
            confirm=_AT_ONCE,
        )
        for biz_type in biz_types
        if biz_type.pk in died and died[biz_type.pk].total() >= options().alert_deaths
    ]
