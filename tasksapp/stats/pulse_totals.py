"""Totals of the pulses: what was counted since counting began, by biz type."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from django.db.models import Sum

from tasksapp.models import Pulse, PulseTotal
from tasksapp.stats.histogram import middle_ms

_LATENESS, _DURATION = Pulse.Kind.LATENESS, Pulse.Kind.DURATION


@dataclass(slots=True)
class Totals:
    """What was counted of one biz type, or of several.

    Args:
        counts: jobs and attempts by the kind of pulse, and milliseconds.
        failures: failed attempts by error class.
        lateness: attempts by the bucket of their lateness.
        duration: attempts by the bucket of their duration.
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    lateness: Counter[int] = field(default_factory=Counter)
    duration: Counter[int] = field(default_factory=Counter)

    @property
    def lateness_ms(self) -> int:
        """How late all attempts began, all together, within 9 %."""
        return sum(middle_ms(bucket) * count for bucket, count in self.lateness.items())

    def add(self, kind: str, key: str, count: int) -> None:
        """Adds a counter."""
        if kind == _LATENESS:
            self.lateness[int(key)] += count
        elif kind == _DURATION:
            self.duration[int(key)] += count
        else:
            self.counts[kind] += count
            if kind == Pulse.Kind.FAILED:
                self.failures[key] += count


def read_totals(own: Collection[int], *, with_others: bool, using: str | None = None) -> dict[int | None, Totals]:
    """The totals of each of these biz types, and under None those of all others together; by one or two queries.

    Args:
        own: the ids of biz types.
        with_others: whether there are others.
        using: the database.
    """
    found: dict[int | None, Totals] = defaultdict(Totals)
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
