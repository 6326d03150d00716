"""Every metric: name, type, labels and meaning. Nothing else names one; docs/reference/metrics.md shows this list."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple, cast

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from tasksapp.access.quotas import Quota
from tasksapp.conf import options
from tasksapp.models import BizType, Tenant

#: The labels of what belongs to a biz type.
BIZ_TYPE = ("tenant", "biz_type")


class Kind(StrEnum):
    """The types of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


_FAMILIES: dict[Kind, Any] = {
    Kind.COUNTER: CounterMetricFamily,
    Kind.GAUGE: GaugeMetricFamily,
    Kind.HISTOGRAM: HistogramMetricFamily,
}


class Described(NamedTuple):
    """One metric.

    Args:
        name: its name; Prometheus adds ``_bucket``, ``_sum`` and ``_count`` to that of a histogram.
        kind: its type.
        about: what it means.
        labels: the names of its labels.
    """

    name: str
    kind: Kind
    about: str
    labels: tuple[str, ...] = ()

    def family(self) -> Any:
        """Prometheus' family for it, without any number yet."""
        return _FAMILIES[self.kind](self.name, self.about, labels=self.labels)

    def of(self, value: float) -> Any:
        """The family with the one number of a metric without labels."""
        family = self.family()
        family.add_metric([], value)
        return family


BUILD = Described("delayhub_build_info", Kind.GAUGE, "Always 1; DelayHub's version.", ("version",))
PART_UP = Described(
    "delayhub_part_up", Kind.GAUGE, "Whether the part answers: 1 or 0. Parts: database, redis.", ("part",)
)
READ_SECONDS = Described(
    "delayhub_metrics_read_seconds", Kind.GAUGE, "How long it took to read these numbers from database and Redis."
)

DELIVERY_STATE = Described(
    "delayhub_delivery_state",
    Kind.GAUGE,
    "1 for the state that delivery is in, 0 for all others; ok while jobs are delivered.",
    ("state",),
)
LOADER_SEATED = Described("delayhub_loader_seated", Kind.GAUGE, "Whether a worker has the loader: 1 or 0.")
LOADER_AGE = Described("delayhub_loader_report_age_seconds", Kind.GAUGE, "How long ago a loader last had a turn.")
CLAIM_AGE = Described(
    "delayhub_lane_claim_age_seconds",
    Kind.GAUGE,
    "How long ago a worker last asked for due timers of the lane; absent until one does.",
    ("lane",),
)

WORKERS = Described("delayhub_workers", Kind.GAUGE, "Workers that sent a heartbeat within 15 seconds.")
WORKER_SLOTS = Described("delayhub_worker_slots", Kind.GAUGE, "Tasks that those workers can run at once.")
TASKS_RUNNING = Described("delayhub_tasks_running", Kind.GAUGE, "Tasks that they run.")
CALLBACKS_OPEN = Described("delayhub_callbacks_open", Kind.GAUGE, "Callbacks that wait for the receiver's answer.")

CREATED = Described(
    "delayhub_jobs_created_total",
    Kind.COUNTER,
    "Jobs that were created; counted minute by minute, half a minute after it ends.",
    BIZ_TYPE,
)
ATTEMPTS = Described(
    "delayhub_attempts_total",
    Kind.COUNTER,
    "Attempts that ended. Outcomes: succeeded, failed.",
    (*BIZ_TYPE, "outcome"),
)
FAILURES = Described(
    "delayhub_attempt_failures_total",
    Kind.COUNTER,
    "Attempts that failed, by the kind of failure, of all biz types.",
    ("error_class",),
)
DIED = Described("delayhub_jobs_died_total", Kind.COUNTER, "Jobs that were given up.", BIZ_TYPE)
LATENESS = Described(
    "delayhub_attempt_lateness_seconds",
    Kind.HISTOGRAM,
    "How much later than planned attempts began. The sum is estimated from the buckets, within 9 %.",
    BIZ_TYPE,
)
DURATION = Described("delayhub_attempt_duration_seconds", Kind.HISTOGRAM, "How long attempts took.", BIZ_TYPE)

JOBS = Described(
    "delayhub_jobs", Kind.GAUGE, "Jobs. Status: pending, running (in flight), dead.", (*BIZ_TYPE, "status")
)
JOBS_DUE = Described("delayhub_jobs_due", Kind.GAUGE, "Pending jobs whose time has come.", BIZ_TYPE)
OVERDUE = Described(
    "delayhub_job_overdue_seconds",
    Kind.GAUGE,
    "How long the first of the due jobs has been due; 0 where none is.",
    BIZ_TYPE,
)
COUNTS_AGE = Described(
    "delayhub_counts_age_seconds", Kind.GAUGE, "How old the counts of jobs are; a loader counts every ten seconds."
)
COUNTS_BOUND = Described(
    "delayhub_counts_bound",
    Kind.GAUGE,
    "0 while counts of jobs are exact; where no loader counts, the number beyond which no count of a biz type goes.",
)
QUOTA_USED = Described(
    "delayhub_quota_used_ratio",
    Kind.GAUGE,
    "How much of its quota a tenant uses, as the loader counted last; 1: it gets no more. Quotas: pending_jobs,"
    " pending_bytes, series, biz_types, api_keys. Tenants whose biz types are all added up"
    " have those of which half is used.",
    ("tenant", "quota"),
)
BIZ_TYPES = Described("delayhub_biz_types", Kind.GAUGE, "How many biz types there are.")
SHUT = Described("delayhub_biz_type_shut", Kind.GAUGE, "1 while the biz type is paused or disabled, else 0.", BIZ_TYPE)

BREAKER_OPEN = Described(
    "delayhub_breaker_open",
    Kind.GAUGE,
    "1 while the breaker is open, since the receiver is down or a token server gives no token; else 0.",
    BIZ_TYPE,
)
GATE_WAITING = Described(
    "delayhub_gate_waiting", Kind.GAUGE, "Due timers that no worker has taken; the gate may hold them back.", BIZ_TYPE
)
GATE_SLOTS = Described(
    "delayhub_gate_slots", Kind.GAUGE, "Jobs that may be in flight at once; absent without a limit.", BIZ_TYPE
)
GATE_SLOTS_HELD = Described(
    "delayhub_gate_slots_held", Kind.GAUGE, "Slots of that limit that are taken; absent without a limit.", BIZ_TYPE
)

# The names of `celery delayhub exporter`, which serves them where there is no Django.
QUEUE_WAITING = Described("delayhub_queue_waiting", Kind.GAUGE, "Tasks that are not due yet.", ("queue",))
QUEUE_DUE = Described("delayhub_queue_due", Kind.GAUGE, "Tasks that are due and that no worker has.", ("queue",))
QUEUE_LEASED = Described("delayhub_queue_leased", Kind.GAUGE, "Tasks that workers have.", ("queue",))
QUEUE_DEAD = Described("delayhub_queue_dead", Kind.GAUGE, "Tasks that gave up.", ("queue",))
QUEUE_LATE = Described(
    "delayhub_queue_late_seconds", Kind.GAUGE, "How long the first of the due tasks has been due.", ("queue",)
)
QUEUE_HEALED = Described(
    "delayhub_queue_healed_total",
    Kind.COUNTER,
    "Places, unique keys and slots that were left behind, and put right.",
    ("queue",),
)

#: All of them, in the order of the page.
EVERY = tuple(found for found in list(globals().values()) if isinstance(found, Described))


#: The labels of all biz types that have no series of their own, together. No code has parentheses.
OTHERS = ("(other)", "(other)")


class BizTypeSeries:
    """The biz types of all tenants, with what these have of their quotas, and the labels of each.

    The oldest ones have series of their own, as many as ``DELAYHUB["METRICS_BIZ_TYPES"]`` says, so that none loses its
    series when a new one comes. All others are added up.

    Args:
        biz_types: all of them, with their tenants, in the order of their ids.
    """

    def __init__(self, biz_types: list[BizType]) -> None:
        self.every = biz_types
        self.named = biz_types[: options().metrics_biz_types]
        self._labels = {each.pk: (cast("Tenant", each.tenant).code, each.code) for each in self.named}

    @classmethod
    def read(cls, *, using: str) -> BizTypeSeries:
        """Those of a database; by one query."""
        fields = (
            "code",
            "tenant__code",
            "enabled",
            "paused_until",
            "url",
            "lane",
            "target",
            "max_in_flight",
            "queue_name",
            *(f"tenant__most_{quota}" for quota in Quota),
            *(f"tenant__counted__{name}" for name in (*Quota, "counted_at")),
        )
        rows = BizType.objects.using(using).select_related("tenant__counted").only(*fields, "tenant_id").order_by("id")
        return cls(list(rows))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The labels of all series, the shared one last, where there is one."""
        yield from self._labels.values()
        if len(self.every) > len(self.named):
            yield OTHERS

    def of(self, biz_type_id: int) -> tuple[str, str]:
        """The labels of the series that a biz type belongs to."""
        return self._labels.get(biz_type_id, OTHERS)

    @property
    def named_ids(self) -> list[int]:
        """The ids of those with series of their own."""
        return list(self._labels)
