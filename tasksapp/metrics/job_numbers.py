"""What the database knows of jobs: how many there are, and what came of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from django.db.models import Sum
from django.utils import timezone

from tasksapp.access.quotas import uses_of
from tasksapp.metrics import catalogue
from tasksapp.metrics.catalogue import OTHERS, BizTypeSeries
from tasksapp.models import Pulse, PulseTotal, Status, Tenant
from tasksapp.stats.counts import BizTypeCounts, read_counts
from tasksapp.stats.histogram import AN_OCTAVE, middle_ms
from tasksapp.stats.pulses import Tally


def read_totals(own: Collection[int], *, with_others: bool, using: str | None = None) -> dict[int | None, Tally]:
    """The totals of each of these biz types, and under None those of all others together; by one or two queries.

    Args:
        own: the ids of biz types.
        with_others: whether there are others.
        using: the database.
    """
    found: dict[int | None, Tally] = defaultdict(Tally)
    rows = PulseTotal.objects.using(using).order_by()
    for biz_type_id, kind, key, count in rows.filter(biz_type_id__in=own).values_list(
        "biz_type_id", "kind", "key", "count"
    ):
        found[biz_type_id].add(kind, key, count)
    if with_others:
        others = rows.exclude(biz_type_id__in=own).values_list("kind", "key").annotate(Sum("count"))
        for kind, key, count in others:
            found[None].add(kind, key, count)
    return found


#: The ends of the buckets, as powers of two of a millisecond: a bucket of ours ends at each. Finer where lateness is
#: usual, four times as wide above a minute.
LATENESS_ENDS = (*range(3, 17), 18, 20, 22, 24, 26)
DURATION_ENDS = (*range(2, 17), 18, 20)
_LABELS = {end: str(2**end / 1000) for end in {*LATENESS_ENDS, *DURATION_ENDS}}
#: Kinds of failure with a series of their own, the most frequent first; tasks may raise any exception.
MOST_CLASSES = 50
#: A quota of which so much is used has a series, whoever's it is, so that no tenant fills up unseen.
NOTED_RATIO = 0.5


def job_numbers(series: BizTypeSeries, *, using: str) -> Iterator[Any]:
    """The families of counts, quotas and totals; by four queries at most."""
    yield from _counts(series, using=using)
    yield _quotas(series)
    yield from _totals(series, using=using)


def _counts(series: BizTypeSeries, *, using: str) -> Iterator[Any]:
    counts, now = read_counts(using=using), timezone.now()
    groups: dict[tuple[str, str], list[BizTypeCounts]] = defaultdict(list)
    for biz_type in series.every:
        groups[series.of(biz_type.pk)].append(counts.of(biz_type.pk))
    jobs, due, overdue = (each.family() for each in (catalogue.JOBS, catalogue.JOBS_DUE, catalogue.OVERDUE))
    for labels in series:
        group = groups[labels]
        jobs.add_metric([*labels, Status.PENDING], sum(each.pending for each in group))
        jobs.add_metric([*labels, Status.RUNNING], sum(each.running for each in group))
        jobs.add_metric([*labels, Status.DEAD], sum(each.dead for each in group))
        due.add_metric(labels, sum(each.due_now for each in group))
        overdue.add_metric(labels, max(_overdue_seconds(each, now) for each in group))
    yield from (jobs, due, overdue)
    if counts.as_of is not None:
        yield catalogue.COUNTS_AGE.of(max(0.0, (now - counts.as_of).total_seconds()))
    yield catalogue.COUNTS_BOUND.of(counts.bound or 0)


def _quotas(series: BizTypeSeries) -> Any:
    """Of the tenants that have biz types with series of their own; of all others what has been used by half."""
    family = catalogue.QUOTA_USED.family()
    named = {biz_type.tenant_id for biz_type in series.named}
    for tenant in {biz_type.tenant_id: cast("Tenant", biz_type.tenant) for biz_type in series.every}.values():
        for use in uses_of(tenant):
            # None of none is no alert: it was meant so.
            ratio = use.used / (use.limit or use.used) if use.used else 0.0
            if use.used is not None and (tenant.pk in named or ratio >= NOTED_RATIO):
                family.add_metric([tenant.code, use.quota.value], ratio)
    return family


def _overdue_seconds(counts: BizTypeCounts, now: datetime) -> float:
    first = counts.oldest_due_at
    return 0.0 if first is None else max(0.0, (now - first).total_seconds())


def _totals(series: BizTypeSeries, *, using: str) -> Iterator[Any]:
    found = read_totals(series.named_ids, with_others=len(series.every) > len(series.named), using=using)
    by_labels = {OTHERS if key is None else series.of(key): totals for key, totals in found.items()}
    created, attempts, died = (each.family() for each in (catalogue.CREATED, catalogue.ATTEMPTS, catalogue.DIED))
    lateness, duration = catalogue.LATENESS.family(), catalogue.DURATION.family()
    failures: Counter[str] = Counter()
    for labels in series:
        totals = by_labels.get(labels, Tally())
        created.add_metric(labels, totals.counts[Pulse.Kind.CREATED])
        attempts.add_metric([*labels, "succeeded"], totals.counts[Pulse.Kind.SUCCEEDED])
        attempts.add_metric([*labels, "failed"], totals.counts[Pulse.Kind.FAILED])
        died.add_metric(labels, totals.counts[Pulse.Kind.DEAD])
        lateness.add_metric(labels, buckets(totals.lateness, LATENESS_ENDS), _summed_ms(totals.lateness) / 1000)
        busy = totals.counts[Pulse.Kind.BUSY]
        duration.add_metric(labels, buckets(totals.duration, DURATION_ENDS), busy / 1000)
        failures += totals.failures
    yield from (created, attempts, died, lateness, duration, _failures(failures))


def _summed_ms(counts: Mapping[int, int]) -> int:
    """All times of a histogram together, within 9 %."""
    return sum(middle_ms(bucket) * count for bucket, count in counts.items())


def buckets(counts: Mapping[int, int], ends: tuple[int, ...]) -> list[tuple[str, float]]:
    """A histogram of ours as Prometheus' cumulative buckets, in seconds.

    Args:
        counts: by bucket.
        ends: powers of two of a millisecond; each is the end of a bucket of ours.
    """
    found: list[tuple[str, float]] = []
    total, left = 0, sorted(counts)
    for end in ends:
        # Bucket number n ends at 2^(n / AN_OCTAVE) ms.
        while left and left[0] <= end * AN_OCTAVE:
            total += counts[left.pop(0)]
        found.append((_LABELS[end], total))
    return [*found, ("+Inf", sum(counts.values()))]


def _failures(failures: Counter[str]) -> Any:
    family = catalogue.FAILURES.family()
    known = failures.most_common(MOST_CLASSES)
    for error_class, count in sorted(known):
        family.add_metric([error_class or "(none)"], count)
    if len(failures) > len(known):
        family.add_metric(["(other)"], failures.total() - sum(count for _, count in known))
    return family
