"""What is wrong at one moment, with the whole site and with single biz types, and what could be judged at all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Max, Sum

from tasksapp.biz_types.breaker import Breaker, callback_host, token_host
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.certificate import first_end
from tasksapp.biz_types.holds import open_breakers
from tasksapp.biz_types.unreadable import is_held
from tasksapp.conf import options
from tasksapp.jobs.flow_order import first_ones_overdue
from tasksapp.models import AlertKind, BizType, JobCount, MissingFollowUp, Pulse
from tasksapp.sql.alert_work import AlertWork, alert_work
from tasksapp.sql.ordered_keys import blocked_keys
from tasksapp.stats.delivery_health import DeliveryHealth, DeliveryState
from tasksapp.stats.pulses import MINUTE, floor

#: A fault is told when it has lasted for so long, or nearly: watchers look every three seconds.
CONFIRM = timedelta(seconds=9)
#: For so long after Redis or the database came back, missing workers are given time to come back too.
AFTER_OUTAGE, CONFIRM_AFTER_OUTAGE = timedelta(seconds=60), timedelta(seconds=45)
#: States in which jobs are delivered, but late.
_LATE = frozenset({DeliveryState.OTHER_REDIS, DeliveryState.NO_LOADER, DeliveryState.LOADER_FAILS})
_KINDS = frozenset({AlertKind.REDIS_AWAY, AlertKind.NOT_DELIVERING, AlertKind.LATE_DELIVERY})
#: Counts of the loader that are older say nothing about now.
FRESH = timedelta(seconds=60)
#: A breaker was open for some failures already; deaths are final; counts are made every ten seconds.
_AT_ONCE = timedelta()
#: So long before its end a certificate is told of; and once more when it has ended.
CERTIFICATE_NOTICE = timedelta(days=14)
#: Kinds of errors that one alert names.
NAMED_ERRORS = 5
#: Blocked flow keys of a biz type that are counted.
MOST_BLOCKED = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One thing that is wrong.

    Args:
        kind: what it is.
        biz_type_id: whose; 0 for the whole site.
        facts: what its sentence says, as JSON.
        confirm: how long it must last before its owner is told.
    """

    kind: AlertKind
    biz_type_id: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)
    confirm: timedelta = CONFIRM

    @property
    def key(self) -> tuple[str, int]:
        """What only one open alert has."""
        return self.kind.value, self.biz_type_id

    def is_about_another(self, facts: Mapping[str, Any]) -> bool:
        """Whether an open alert of its key has those facts, and is about another certificate."""
        told = facts.get("of", "client"), facts.get("subject")  # older releases knew of client certificates only
        return "of" in self.facts and told != (self.facts["of"], self.facts["subject"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """All that is wrong at one moment.

    Args:
        conditions: what is wrong.
        kinds: what could be judged; alerts of other kinds stay as they are.
    """

    conditions: Sequence[Condition] = ()
    kinds: frozenset[AlertKind] = frozenset()

    def __or__(self, other: Judgement) -> Judgement:
        return Judgement(conditions=[*self.conditions, *other.conditions], kinds=self.kinds | other.kinds)


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


def biz_type_work(*, now: datetime, using: str) -> AlertWork:
    """What there is to judge of biz types, by one statement. Raises what the database raises."""
    return alert_work(
        now=now,
        counted_since=now - FRESH,
        overdue_before=_overdue_before(now),
        died_since=_died_since(now),
        using=using,
    )


def biz_type_judgement(work: AlertWork, *, now: datetime, using: str) -> Judgement:
    """What is wrong with biz types, on a site that delivers. Raises what the database raises.

    Args:
        work: what there is to judge.
        now: the present.
        using: the database.
    """
    every = biz_type_cache.all_as_of(work.revisions, using=using)
    breakers, held = open_breakers(every), any(is_held(biz_type, now=now) for biz_type in every)
    kinds = {
        *(AlertKind.DEAD, AlertKind.NO_FOLLOW_UP, AlertKind.UNREADABLE),
        *(AlertKind.CERTIFICATE_ENDS, AlertKind.CERTIFICATE_OVER),
    }
    if breakers is not None:
        kinds.add(AlertKind.BREAKER_OPEN)
        if work.counted:
            kinds |= {AlertKind.OVERDUE, AlertKind.KEY_BLOCKED}
    found: list[Condition] = []
    if breakers or held or work.overdue or work.died:
        # As they are called now: of a tenant that was renamed since, a row that is known says nothing.
        biz_types = list(BizType.objects.using(using).select_related("tenant").order_by("id"))
        counts = {row.biz_type_id: row for row in JobCount.objects.using(using).filter(counted_at__gte=now - FRESH)}
        found = _dying(biz_types, counts, now=now, using=using) + _followed_by_none(biz_types, now=now, using=using)
        found += [_unreadable(biz_type) for biz_type in biz_types if is_held(biz_type, now=now)]
        if breakers is not None:
            open_now = [biz_type for biz_type in biz_types if not biz_type.is_shut(now=now)]
            found += [_down(each, breakers[each.queue]) for each in open_now if each.queue in breakers]
            reached = [biz_type for biz_type in open_now if biz_type.queue not in breakers]
            found += _blocked(reached, now=now, using=using)
            found += _overdue(reached, counts, now=now, using=using)
    found += _ending(every, now=now, using=using)
    return Judgement(conditions=found, kinds=frozenset(kinds))


def _unreadable(biz_type: BizType) -> Condition:
    facts = {"biz_type": biz_type.label}
    return Condition(kind=AlertKind.UNREADABLE, biz_type_id=biz_type.pk, facts=facts, confirm=_AT_ONCE)


def _down(biz_type: BizType, breaker: Breaker) -> Condition:
    facts = {"biz_type": biz_type.label, "host": callback_host(biz_type)}
    if breaker.no_token:
        facts |= {"host": token_host(biz_type), "no_token": breaker.no_token}
    return Condition(kind=AlertKind.BREAKER_OPEN, biz_type_id=biz_type.pk, facts=facts, confirm=_AT_ONCE)


def _ending(every: Sequence[BizType], *, now: datetime, using: str) -> list[Condition]:
    """Certificates that end soon or have ended, of biz types that show them to receivers, or trust those by them."""
    soon = {each.pk for each in every if any(end.at < now + CERTIFICATE_NOTICE for end in _ends_of(each))}
    found: dict[tuple[int, AlertKind], Condition] = {}
    # As they are called now, as above.
    for biz_type in BizType.objects.using(using).select_related("tenant").filter(pk__in=soon) if soon else ():
        for end in sorted(_ends_of(biz_type)):
            if end.at >= now + CERTIFICATE_NOTICE:
                break
            kind = AlertKind.CERTIFICATE_ENDS if now < end.at else AlertKind.CERTIFICATE_OVER
            facts = {"biz_type": biz_type.label, "subject": end.subject, "end": end.at.isoformat(), "of": end.of}
            condition = Condition(kind=kind, biz_type_id=biz_type.pk, facts=facts, confirm=_AT_ONCE)
            found.setdefault((biz_type.pk, kind), condition)  # the first; when that is mended, the next is told
    return list(found.values())


class _End(NamedTuple):
    """When a certificate ends, whom it names, and of what it is one: ``client``, or ``bundle``."""

    at: datetime
    subject: str
    of: str


def _ends_of(biz_type: BizType) -> list[_End]:
    """When what callbacks of the biz type bring to TLS ends; empty for one that has none."""
    if biz_type.is_closed or biz_type.target != BizType.Target.HTTP:
        return []
    found = []
    if biz_type.certificate_ends_at is not None:
        found.append(_End(biz_type.certificate_ends_at, biz_type.certificate_subject, "client"))
    if biz_type.ca_bundle and (first := first_end(biz_type.ca_bundle)) is not None:
        found.append(_End(*first, "bundle"))
    return found


def _blocked(biz_types: Sequence[BizType], *, now: datetime, using: str) -> list[Condition]:
    """Flow keys in order whose first job does not come to an end; one for all of a biz type."""
    before = _overdue_before(now)
    found = []
    for biz_type in biz_types:
        if not biz_type.is_ordered:
            continue
        if first := blocked_keys(biz_type.pk, before=before, most=MOST_BLOCKED, using=using):
            keys, job = len(first), first[0]
            facts = {"biz_type": biz_type.label, "keys": keys, "flow_key": job.flow_key, "job_id": str(job.id)}
            found.append(Condition(kind=AlertKind.KEY_BLOCKED, biz_type_id=biz_type.pk, facts=facts))
    return found


def _overdue(
    biz_types: Sequence[BizType], counts: Mapping[int, JobCount], *, now: datetime, using: str
) -> list[Condition]:
    """Of biz types that are neither paused nor disabled, and whose receivers are up: all that is known, and told.

    Of jobs in order, only the first of a flow key can be late: the others wait for it.
    """
    before = _overdue_before(now)
    found = []
    for biz_type in biz_types:
        count = counts.get(biz_type.pk)
        if count is None or not count.due_now:
            continue
        if biz_type.is_ordered and not first_ones_overdue(biz_type, before=before, using=using):
            continue
        if count.oldest_due_at is not None and count.oldest_due_at < before:
            facts = {"biz_type": biz_type.label, "due": count.due_now, "oldest": count.oldest_due_at.isoformat()}
            found.append(Condition(kind=AlertKind.OVERDUE, biz_type_id=biz_type.pk, facts=facts))
    return found


def _dying(
    biz_types: Sequence[BizType], counts: Mapping[int, JobCount], *, now: datetime, using: str
) -> list[Condition]:
    pulses = Pulse.objects.using(using).filter(span_seconds=MINUTE, kind=Pulse.Kind.DEAD, at__gte=_died_since(now))
    rows = pulses.order_by()
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


def _followed_by_none(biz_types: Sequence[BizType], *, now: datetime, using: str) -> list[Condition]:
    """Biz types from whose jobs something was to follow lately that could not be made, and was not made again since."""
    rows = MissingFollowUp.of_now(using=using).filter(at__gte=_died_since(now))
    missing = {
        number: (jobs, at) for number, jobs, at in rows.values_list("biz_type_id").annotate(Count("id"), Max("at"))
    }
    found = []
    for biz_type in biz_types:
        if biz_type.pk in missing:
            jobs, at = missing[biz_type.pk]
            newest = rows.filter(biz_type=biz_type, at=at).values_list("job_id").first()
            facts = {"biz_type": biz_type.label, "jobs": jobs, "job_id": str(newest[0]) if newest else "?"}
            found.append(Condition(kind=AlertKind.NO_FOLLOW_UP, biz_type_id=biz_type.pk, facts=facts, confirm=_AT_ONCE))
    return found


def _overdue_before(now: datetime) -> datetime:
    return now - timedelta(seconds=options().alert_overdue_seconds)


def _died_since(now: datetime) -> datetime:
    return floor(now - timedelta(seconds=options().alert_calm_seconds), MINUTE)
