"""What the jobs of a chaos run make use of: keys and limits, priorities, follow-ups, a series, and resolves.

A fifth of the jobs is of each kind; ``judge`` says what went wrong with the promises of each.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from random import Random
from typing import Any

from django.utils import timezone

#: Jobs of the keyed biz type that may be open at once, of all keys and of one; callbacks a second.
OPEN, OPEN_OF_KEY, RATE = 200, 50, 400.0
KEYS = 10
#: Occurrences of the series.
EVERY = timedelta(seconds=1)


class Features:
    """The biz types and the series, and what was resolved.

    Args:
        url: the receiver's.
        random: where chance comes from.
        fields: of every biz type.
    """

    def __init__(self, url: str, *, random: Random, fields: Mapping[str, Any]) -> None:
        from tasksapp import series
        from tasksapp.models import BizType

        self.random = random
        self.number = 0
        #: When the resolve of a job that it cancelled was accepted, in Unix µs.
        self.resolved: dict[str, int] = {}
        own: dict[str, dict[str, Any]] = {
            "chaos": {},
            "chaos.after": {},
            "chaos.followed": {"on_success": "chaos.after"},
            "chaos.keyed": {
                "delivery_rate": RATE,
                "delivery_burst": int(RATE),
                "max_in_flight": OPEN,
                "key_max_in_flight": OPEN_OF_KEY,
            },
            "chaos.paid": {},
            "chaos.repeated": {},
        }
        for code, more in own.items():
            BizType.objects.create(code=code, url=url, **{**fields, **more})
        series.create("chaos.repeated", name="chaos", every=EVERY, catch_up="all", overlap="start")

    def request(self) -> Any:
        """The next job: due within eight seconds."""
        from tasksapp.jobs import JobRequest

        self.number += 1
        due_at = timezone.now() + timedelta(seconds=self.random.uniform(0, 8))
        match self.number % 5:
            case 0:
                key = f"tenant-{self.random.randrange(KEYS)}"
                urgency = self.random.randrange(10)
                return JobRequest("chaos.keyed", due_at=due_at, flow_key=key, priority=urgency)
            case 1:
                return JobRequest("chaos.followed", due_at=due_at)
            case 2:
                return JobRequest("chaos.paid", due_at=due_at, biz_id=f"order-{self.number}")
            case 3:
                return JobRequest("chaos", due_at=due_at, expires_at=due_at + timedelta(hours=1))
            case _:
                return JobRequest("chaos", due_at=due_at, priority=self.random.randrange(10))

    def resolve(self, biz_id: str) -> None:
        """The order was paid."""
        from tasksapp import jobs

        outcome = jobs.resolve("chaos.paid", biz_id)
        if outcome.accepted:
            now_us = time.time_ns() // 1000
            self.resolved |= {str(job_id): now_us for job_id in outcome.cancelled}

    def end(self) -> None:
        """No further occurrences."""
        from tasksapp import series

        found = series.find_by_name("chaos.repeated", "chaos")
        series.pause(found.pk)

    def judge(self, *, last_seen: Mapping[str, int]) -> dict[str, int]:
        """What each promise was broken by; all zeros but the first two lines.

        Args:
            last_seen: when each job was called back last, in Unix µs.
        """
        from tasksapp.models import Job, Status

        jobs = Job.objects.order_by()
        moments = list(
            jobs.filter(biz_type__code="chaos.repeated", status=Status.SUCCEEDED)
            .values_list("occurrence_at", flat=True)
            .order_by("occurrence_at")
        )
        span = round((moments[-1] - moments[0]) / EVERY) + 1 if moments else 0
        statuses = dict(jobs.filter(pk__in=self.resolved).values_list("pk", "status"))
        fired = Counter(job_id for job_id, at_us in self.resolved.items() if last_seen.get(job_id, 0) > at_us)
        followed = jobs.filter(biz_type__code="chaos.followed", status=Status.SUCCEEDED).count()
        return {
            "resolved": len(self.resolved),
            "occurrences": len(moments),
            "occurrences missing": span - len(set(moments)),
            "occurrences twice": len(moments) - len(set(moments)),
            "came after resolve": len(fired),
            "resolve undone": sum(status != Status.CANCELLED for status in statuses.values()),
            "follow-ups wrong": abs(jobs.filter(biz_type__code="chaos.after").count() - followed),
        }
