"""Jobs of biz types that keep the last: of each biz id one has begun and has not ended, and one more waits for its end.

What waits has a mark before the biz id in its ``live_key``. So the unique index that lets one job of a key live lets
one wait beside it, and a create replaces that one by a single statement, whatever ends meanwhile. A claim takes no job
that has the mark: it is taken off when the job's turn has come, which the same index decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from django.db import connections, transaction
from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Greatest

from tasksapp.models import LIVE, Job, Transition
from tasksapp.sql.make_live import make_live
from tasksapp.sql.series_overlap import WAIT

#: No biz id has it: they hold no control characters.
MARK = "\n"
#: Characters of the column.
_LONGEST = Job._meta.get_field("live_key").max_length or 0
_PENDING = Transition.CLAIM.source


class Turns(NamedTuple):
    """What became of jobs that waited for others of their biz ids.

    Args:
        begun: their turn has come, and they may be claimed.
        behind: another one of the biz id has not ended; they come again after ``WAIT``.
    """

    begun: list[UUID]
    behind: list[UUID]


def waiting_key(biz_id: str) -> str:
    """The live key of the job that waits."""
    return MARK + biz_id if len(biz_id) < _LONGEST else MARK + MARK + sha256(biz_id.encode()).hexdigest()


def is_waiting(live_key: str | None) -> bool:
    """Whether the live key is that of a job that waits."""
    return live_key is not None and live_key.startswith(MARK)


def begin_waiting(ids: Sequence[UUID], *, now: datetime, using: str) -> Turns:
    """Takes the mark off those of the jobs whose turn has come. Rows that others have locked are in neither list.

    One that waited is due from then on, so that it is not late, and no older than that.
    """
    jobs = Job.objects.using(using)
    waiting = jobs.filter(id__in=ids, status=_PENDING, live_key__startswith=MARK)
    with transaction.atomic(using=using):
        if not connections[using].features.has_select_for_update:
            waiting.update(version=F("version"))  # SQLite: see ``tasksapp.jobs.verbs.locked``
        rows = waiting.order_by("id").select_for_update(no_key=True, skip_locked=True)
        locked = list(rows.values_list("id", flat=True))
        other = Job.objects.filter(biz_type_id=OuterRef("biz_type_id"), live_key=OuterRef("biz_id"), status__in=LIVE)
        free = list(jobs.filter(id__in=locked).exclude(Exists(other)).values_list("id", flat=True))
        begun = make_live(free, {"live_key": F("biz_id"), "due_at": Greatest("due_at", "next_run_at")}, using=using)
        behind = [job_id for job_id in locked if job_id not in begun]
        jobs.filter(id__in=behind).update(next_run_at=now + WAIT)
    return Turns(begun, behind)


def wake_waiting(ended: Iterable[tuple[int, str]], *, now: datetime, using: str) -> list[Job]:
    """The jobs that are due and waited for the end of others, which are given by biz type and biz id."""
    keys: dict[int, list[str]] = defaultdict(list)
    for biz_type_id, biz_id in ended:
        keys[biz_type_id].append(waiting_key(biz_id))
    woken: list[Job] = []
    for biz_type_id, held in keys.items():
        # Those in order come again by themselves: Redis has a timer for the first of their flow key only.
        rows = Job.objects.using(using).filter(
            biz_type_id=biz_type_id, live_key__in=held, status=_PENDING, due_at__lte=now, place__isnull=True
        )
        rows.filter(next_run_at__gt=now).update(next_run_at=now)
        woken += rows.select_related("biz_type").defer("body", "raw")
    return woken
