"""CreationCounter: counts the jobs that were created, minute by minute, along their ids, which are in order of time.

So creating a job costs nothing for being counted, and no process that creates jobs needs a thread or a file for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Count

from delayhub.clock import due_ms, moment
from tasksapp.models import BizType, Job, Pulse
from tasksapp.models.job_id import first_id_at, made_at_ms
from tasksapp.sql.pulses import PulseKey, add_to_totals
from tasksapp.stats.pulses import MINUTE, floor

#: A minute is counted when it ended so long ago: a job has its id before its transaction commits.
SETTLED = timedelta(seconds=30)
#: Minutes with jobs that one turn counts at most; the next one goes on.
MOST_MINUTES = 60
#: Without a loader for longer than this, what was created meanwhile is not counted.
REMEMBERED = timedelta(days=1)


class CreationCounter:
    """Counts for one database. Each minute is counted once, also where two loaders come at the same time.

    Args:
        using: the database.
    """

    def __init__(self, *, using: str) -> None:
        self._using = using
        #: Where counting goes on; None where the database has to be asked.
        self._since: datetime | None = None

    def run_once(self, *, now: datetime) -> int:
        """Counts the minutes that are settled; how many jobs that were. Raises what the database raises."""
        until, counted = floor(now - SETTLED, MINUTE), 0
        if self._since is None:
            self._since = self._find_since(now)
        for _ in range(MOST_MINUTES):
            minute = self._next_minute(self._since, until=until)
            if minute is None:
                self._since = max(self._since, until)
                break
            try:
                counted += self._count(minute)
            except IntegrityError:
                # Another loader has counted it, or a biz type was deleted just now.
                self._since = None
                break
            self._since = minute + timedelta(seconds=MINUTE)
        return counted

    def _find_since(self, now: datetime) -> datetime:
        """After the last minute that was counted; the first time of all nothing older than now is counted."""
        counted = Pulse.objects.using(self._using).filter(
            span_seconds=MINUTE, kind=Pulse.Kind.CREATED, at__gte=now - REMEMBERED
        )
        newest = counted.order_by("-at").first()
        return floor(now, MINUTE) if newest is None else newest.at + timedelta(seconds=MINUTE)

    def _next_minute(self, since: datetime, *, until: datetime) -> datetime | None:
        """The first minute from then on in which a job was created; None where there is none until then."""
        jobs = Job.objects.using(self._using).filter(
            id__gte=first_id_at(due_ms(since)), id__lt=first_id_at(due_ms(until))
        )
        job_id = jobs.order_by("id").values_list("id", flat=True).first()
        return None if job_id is None else floor(moment(made_at_ms(job_id)), MINUTE)

    def _count(self, minute: datetime) -> int:
        first, after = (first_id_at(due_ms(at)) for at in (minute, minute + timedelta(seconds=MINUTE)))
        jobs = Job.objects.using(self._using).filter(id__gte=first, id__lt=after)
        with transaction.atomic(using=self._using):
            known = set(BizType.objects.using(self._using).values_list("id", flat=True))
            found = {
                PulseKey(minute, biz_type_id, Pulse.Kind.CREATED.value, ""): count
                for biz_type_id, count in jobs.order_by().values_list("biz_type_id").annotate(Count("id"))
                if biz_type_id in known
            }
            Pulse.objects.using(self._using).bulk_create(
                Pulse(biz_type_id=key.biz_type_id, at=minute, span_seconds=MINUTE, kind=key.kind, count=count)
                for key, count in sorted(found.items())
            )
            add_to_totals(found, using=self._using)
        return sum(found.values())
