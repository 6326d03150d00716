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

from tasksapp.extending.claim_rules import Claim, WaitRule
from tasksapp.models import LIVE, BizType, Job, Transition
from tasksapp.models.conflicts import repeated
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.sql.make_live import make_live
from tasksapp.sql.ordered_keys import give_places
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


def new_live_key(biz_id: str, one_live: str) -> str:
    """The live key of a new job, by what its biz type chooses."""
    return waiting_key(biz_id) if one_live == BizType.OneLive.LAST else biz_id


def is_waiting(live_key: str | None) -> bool:
    """Whether the live key is that of a job that waits."""
    return live_key is not None and live_key.startswith(MARK)


def begin_waiting(ids: Sequence[UUID], *, now: datetime, using: str, in_turn: bool = False) -> Turns:
    """Takes the mark off those of the jobs whose turn has come. Rows that others have locked are in neither list.

    One that waited is due from then on, so that it is not late, and no older than that. ``in_turn``: they are the first
    of their ordered flow keys, which the caller holds.
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
        if in_turn and behind:
            _let_go_first(behind, using=using)
    return Turns(begun, behind)


def _let_go_first(behind: Sequence[UUID], *, using: str) -> None:
    """Puts the jobs behind those that they wait for, where these come after them in one order: else none would run."""
    jobs = Job.objects.using(using)
    for job in jobs.filter(id__in=behind).only("biz_type_id", "biz_id", "flow_key", "due_at", "place"):
        others = jobs.filter(biz_type_id=job.biz_type_id, live_key=job.biz_id, status=_PENDING, place__isnull=False)
        others = others.filter(flow_key=job.flow_key, due_at__gte=job.due_at)
        for due_at in others.values_list("due_at", flat=True):
            (place, _), *_ = give_places([(job.biz_type_id, job.flow_key)], using=using)
            jobs.filter(id=job.id).update(due_at=due_at, place=place)


def wake_waiting(ended: Iterable[tuple[int, str]], *, now: datetime, using: str) -> list[Job]:
    """The jobs that are due and waited for the end of others, which are given by biz type and biz id.

    All of them are due from now on; those in order are not given back: their flow keys are woken.
    """
    woken: list[Job] = []
    for biz_type_id, held in by_biz_type((number, waiting_key(biz_id)) for number, biz_id in ended).items():
        jobs = Job.objects.using(using)
        rows = jobs.filter(biz_type_id=biz_type_id, live_key__in=held, status=_PENDING, due_at__lte=now)
        with transaction.atomic(using=using):
            if connections[using].features.has_select_for_update:
                # No outcome waits for the transaction of a create: what others hold comes by itself, in WAIT or before.
                locked = rows.order_by("id").select_for_update(no_key=True, skip_locked=True)
                rows = jobs.filter(id__in=list(locked.values_list("id", flat=True)))
            rows.update(next_run_at=now)
            # Of those in order Redis has a timer for the first of their flow key only.
            woken += rows.filter(place__isnull=True).select_related("biz_type").defer("body", "raw")
    return woken


def by_biz_type(keys: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    """The live keys of each biz type."""
    found: dict[int, list[str]] = defaultdict(list)
    for number, key in keys:
        found[number].append(key)
    return found


@repeated
def _claim_alone(ids: Sequence[UUID], under_way: Claim, in_turn: bool) -> ClaimAnswer:
    """Claim those of the jobs that wait for no other one of their biz id any more."""
    answer, now = ClaimAnswer(token=under_way.token), under_way.now
    turns = begin_waiting(ids, now=now, using=under_way.using, in_turn=in_turn)
    answer.not_due = [(job_id, now + WAIT) for job_id in turns.behind]
    answer.locked = [job_id for job_id in ids if job_id not in {*turns.begun, *turns.behind}]
    if turns.begun:
        under_way.claim(answer, turns.begun, in_turn)
    return answer


WAITS_FOR_THE_ONE_BEFORE = WaitRule(
    name="waiting",
    rank=20,
    when="waiting",
    columns={"waiting": f"ascii(j.live_key) = {ord(MARK)}"},
    holds=lambda job, decision, claim, in_turn: is_waiting(job.live_key),
    apart=_claim_alone,
    claims=True,
)
