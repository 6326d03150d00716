"""What is deleted when it is old, and when that last happened."""

from __future__ import annotations

from django.db.models import Count, Max, Min, Q
from django.utils.translation import gettext as _

from tasksapp.conf import options
from tasksapp.models import BizType
from tasksapp.queues.heartbeats import read_workers
from tasksapp.queues.system.section import Fact, Section, Unit


def purge_section() -> Section:
    """How long finished jobs are kept, and what was deleted last. Raises what the two servers raise."""
    kept = BizType.objects.aggregate(
        least=Min("retention"), most=Max("retention"), always=Count("pk", filter=Q(retention=None))
    )
    last = max(
        ((worker.purged_at, worker.purged_jobs) for worker in read_workers() if worker.purged_at is not None),
        default=(None, None),
    )
    rate = options().purge_rows_per_minute
    return Section(
        key="purge",
        title=_("Purge"),
        facts=[
            Fact("rows_per_minute", _("Rows a minute at most"), rate),
            Fact("shortest_seconds", _("Shortest retention"), _seconds(kept["least"]), Unit.SECONDS),
            Fact("longest_seconds", _("Longest retention"), _seconds(kept["most"]), Unit.SECONDS),
            Fact("kept_always", _("Biz types that keep jobs for good"), kept["always"]),
            Fact("purged_at", _("Deleted jobs last"), last[0]),
            Fact("purged_jobs", _("How many then, in its last second"), last[1]),
        ],
        warnings=[] if rate else [_("Workers delete nothing: PURGE_ROWS_PER_MINUTE is 0, so run purge_jobs yourself.")],
        notes=[_("The worker with the loader deletes; what one did before its last start is not known.")],
    )


def _seconds(value: object) -> float | None:
    total = getattr(value, "total_seconds", None)
    return total() if total is not None else None
