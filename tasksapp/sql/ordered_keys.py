"""Flow keys whose jobs run one after the other: places are given, and the first job of a key is found.

The order of a key's jobs is that of their due times, and of their places where those are alike. Both a place and the
start of a job are decided by the transaction that holds the lock of the key's row, in a statement that began after it
had that: so places are in the order of commits, and no two jobs of a key start beside each other. What ends a job needs
no lock: a claim that looks before finds the job still there, and waits once more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db import connections, transaction
from django.db.models import Exists, OuterRef

from tasksapp.models import LIVE, BizType, Job, NewJob, OrderedKey, Transition
from tasksapp.sql.read_values import from_unix_microseconds, read_moment, read_uuid, to_unix_microseconds

#: A biz type's id and a flow key.
Key = tuple[int, str]

#: Keys of one statement.
CHUNK_KEYS = 200

_PENDING, _DEAD = Transition.CLAIM.source, Transition.GIVE_UP.target

#: The database's clock, in Unix µs. A key that has been forgotten begins anew behind all places it ever gave.
_CLOCK = {
    "postgresql": "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
    "sqlite": "(CAST((julianday('now') - 2440587.5) * 86400000 AS integer) * 1000)",
}
_GREATEST = {"postgresql": "greatest", "sqlite": "max"}
_GIVE = """
INSERT INTO delayhub_ordered_key (biz_type_id, flow_key, place) VALUES {rows}
ON CONFLICT (biz_type_id, flow_key) DO UPDATE SET place = {greatest}(delayhub_ordered_key.place, {clock}) + {most}
RETURNING biz_type_id, flow_key, place
"""

#: What holds up the jobs behind it.
_STATUSES = ", ".join(f"'{status}'" for status in (*LIVE, _DEAD))
_IS_NOT_OVER = f"""(
    j.status IN ({", ".join(f"'{status}'" for status in LIVE)})
    OR j.status = '{_DEAD}' AND b.ordered = '{BizType.Ordered.BLOCKS}'
)"""
#: The job that was taken last, while it is not over and has not been moved; else the first by due time and place. The
#: ``LIMIT`` has it looked for once: without it the planner would do so for the join and for its condition.
_FIRST = f"""
SELECT f.biz_type_id, f.flow_key, j.id, j.status, j.next_run_at, j.priority, j.lease_until, j.due_at FROM (
    SELECT k.biz_type_id, k.flow_key, coalesce(
        (SELECT j.id FROM delayhub_job j WHERE j.id = k.begun AND j.biz_type_id = k.biz_type_id
            AND j.flow_key = k.flow_key AND j.due_at = k.begun_due_at AND {_IS_NOT_OVER}),
        (SELECT j.id FROM delayhub_job j WHERE j.biz_type_id = k.biz_type_id AND j.flow_key = k.flow_key
            AND j.place IS NOT NULL AND j.status IN ({_STATUSES}) AND {_IS_NOT_OVER}
            ORDER BY j.due_at, j.place LIMIT 1)
    ) AS first
    FROM delayhub_ordered_key k JOIN delayhub_biz_type b ON b.id = k.biz_type_id
    WHERE {{which}} LIMIT 1000000
) f JOIN delayhub_job j ON j.id = f.first
"""  # noqa: S608  our own constants
_PAGE = "k.biz_type_id = %s AND k.flow_key > %s AND k.flow_key <= %s"

#: Each job that begins has a later time than the one before it, whatever the clock says: this is its turn.
_BEGIN = """
UPDATE delayhub_ordered_key SET begun = j.id, begun_due_at = j.due_at,
    begun_at = CASE WHEN begun = j.id THEN begun_at ELSE {begun_at} END
FROM delayhub_job j
WHERE j.id IN ({ids})
    AND delayhub_ordered_key.biz_type_id = j.biz_type_id AND delayhub_ordered_key.flow_key = j.flow_key
RETURNING begun, begun_at
"""
_BEGUN_AT = {
    "postgresql": "greatest(clock_timestamp(), begun_at + interval '1 microsecond')",
    "sqlite": "max(strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now'),"
    " coalesce(strftime('%%Y-%%m-%%d %%H:%%M:%%f', begun_at, '+0.001 seconds'), ''))",
}

#: Keys whose first job was taken long ago and is not over, or died long ago without having been taken, such as one that
#: was too old, while others wait behind it.
_BLOCKED = f"""
SELECT j.biz_type_id, j.flow_key, j.id, j.status, j.next_run_at, j.priority, j.lease_until, j.due_at
FROM (
    SELECT j.id, k.begun_at AS since FROM delayhub_ordered_key k
    JOIN delayhub_biz_type b ON b.id = k.biz_type_id JOIN delayhub_job j ON j.id = k.begun
    WHERE k.biz_type_id = %s AND j.flow_key = k.flow_key AND j.due_at = k.begun_due_at AND {_IS_NOT_OVER}
    UNION ALL
    SELECT j.id, j.finished_at FROM delayhub_job j JOIN delayhub_biz_type b ON b.id = j.biz_type_id
    LEFT JOIN delayhub_ordered_key k ON k.begun = j.id AND k.biz_type_id = j.biz_type_id AND k.flow_key = j.flow_key
    WHERE j.biz_type_id = %s AND j.status = '{_DEAD}' AND j.place IS NOT NULL AND k.id IS NULL
        AND b.ordered = '{BizType.Ordered.BLOCKS}'
) f JOIN delayhub_job j ON j.id = f.id
WHERE f.since < %s AND EXISTS (
    SELECT 1 FROM delayhub_job o WHERE o.biz_type_id = j.biz_type_id AND o.flow_key = j.flow_key
        AND o.place IS NOT NULL AND o.status = '{_PENDING}' AND o.id <> j.id
)
ORDER BY f.since LIMIT %s
"""  # noqa: S608  our own constants


class PlacedJob(Protocol):
    """A job, or a part of its row, that says whether it is in order."""

    @property
    def biz_type_id(self) -> int: ...

    @property
    def flow_key(self) -> str: ...

    @property
    def place(self) -> int | None: ...


class FirstJob(NamedTuple):
    """The first job of a key, for which all others of it wait.

    ``lease_until``: how long it runs, or the message of its Celery task is under way; None for neither.
    """

    biz_type_id: int
    flow_key: str
    id: UUID
    status: str
    next_run_at: datetime
    priority: int
    lease_until: datetime | None
    due_at: datetime

    @property
    def key(self) -> Key:
        """Its key."""
        return self.biz_type_id, self.flow_key

    def needs_timer(self, *, now: datetime) -> bool:
        """Whether it waits for its time, and no message of it is under way."""
        return self.status == _PENDING and (self.lease_until is None or self.lease_until <= now)


class Turns(NamedTuple):
    """What a claim may do with the jobs it asks for.

    Args:
        first: they are the first of their keys, whose rows are locked now.
        blocked: others of their keys come before.
        locked: another transaction holds their keys.
    """

    first: list[UUID]
    blocked: list[UUID]
    locked: list[UUID]


def placed(
    jobs: Sequence[NewJob], *, ordered: Collection[int], delayed: Collection[UUID] = (), now: datetime, using: str
) -> list[NewJob]:
    """The new jobs with their places, in the caller's transaction; those that are in no order are left as they are.

    Those of a key are placed in the order in which they are given.

    Args:
        jobs: the jobs, which are not stored yet.
        ordered: the ids of the biz types that are ordered.
        delayed: those of the jobs that count their time from now: from when they get their place, by the database's
            clock.
        now: what that time was counted from until now.
        using: the database.
    """
    keys = [(job.biz_type_id, job.flow_key) for job in jobs if job.flow_key and job.biz_type_id in ordered]
    places = iter(give_places(keys, using=using))
    found: list[NewJob] = []
    for job in jobs:
        if not job.flow_key or job.biz_type_id not in ordered:
            found.append(job)
            continue
        place, at = next(places)
        found.append(job._replace(place=place, due_at=at + (job.due_at - now) if job.id in delayed else job.due_at))
    return found


def give_places(keys: Sequence[Key], *, using: str) -> list[tuple[int, datetime]]:
    """A new place for each of the keys in turn, and when it was given; locks them until the transaction ends."""
    counts = Counter(keys)
    if not counts:
        return []
    most = max(counts.values())
    last = _give(sorted(counts), most=most, using=using)
    given: Counter[Key] = Counter()
    places = []
    for key in keys:
        given[key] += 1
        begin = last[key] - most
        places.append((begin + given[key], from_unix_microseconds(begin)))
    return places


def keys_in_order(jobs: Iterable[PlacedJob]) -> set[Key]:
    """The flow keys of those of the jobs that have a place."""
    return {(job.biz_type_id, job.flow_key) for job in jobs if job.place is not None}


def _give(keys: Sequence[Key], *, most: int, using: str) -> dict[Key, int]:
    """The last of so many new places of each key. The keys are locked in their order."""
    connection = connections[using]
    last: dict[Key, int] = {}
    clock = _CLOCK[connection.vendor]
    with connection.cursor() as cursor:
        for chunk in _chunks(keys):
            statement = _GIVE.format(
                rows=", ".join([f"(%s, %s, {clock} + {most})"] * len(chunk)),
                clock=clock,
                greatest=_GREATEST[connection.vendor],
                most=most,
            )
            cursor.execute(statement, [value for key in chunk for value in key])
            last |= {(number, key): place for number, key, place in cursor.fetchall()}
    return last


def first_jobs_of(keys: Collection[Key], *, using: str) -> list[FirstJob]:
    """The first job of each of the keys; those that have none are left out."""
    found: list[FirstJob] = []
    for chunk in _chunks(sorted(set(keys))):
        which = f"(k.biz_type_id, k.flow_key) IN (VALUES {_pairs(chunk)})"
        found += _first(which, [value for key in chunk for value in key], using=using)
    return found


def first_jobs_page(biz_type_id: int, *, after: str, most: int, using: str) -> tuple[list[FirstJob], str | None]:
    """The first jobs of the biz type's next keys, and the last of those keys; None where no key is left.

    Args:
        biz_type_id: the biz type.
        after: the key where the last page ended; '' for the first page.
        most: keys of the page.
        using: the database.
    """
    keys = OrderedKey.objects.using(using).filter(biz_type_id=biz_type_id, flow_key__gt=after).order_by("flow_key")
    names = list(keys.values_list("flow_key", flat=True)[:most])
    if not names:
        return [], None
    found = _first(_PAGE, [biz_type_id, after, names[-1]], using=using)
    return found, names[-1] if len(names) == most else None


def blocked_keys(biz_type_id: int, *, before: datetime, most: int, using: str) -> list[FirstJob]:
    """The jobs, at most so many, that have held up the others of their keys since before then."""
    connection = connections[using]
    at = connection.ops.adapt_datetimefield_value(before)
    return _rows(_BLOCKED, [biz_type_id, biz_type_id, at, most], using=using)


def take_turns(ids: Sequence[UUID], *, using: str) -> Turns:
    """Locks the keys of the jobs until the caller's transaction ends, and tells which of the jobs may be claimed.

    Keys that another transaction holds are passed over.
    """
    rows = Job.objects.using(using).filter(id__in=ids).values_list("id", "biz_type_id", "flow_key")
    wanted: dict[Key, list[UUID]] = defaultdict(list)
    for job_id, number, flow_key in rows:
        wanted[number, flow_key].append(job_id)
    held = _lock(sorted(wanted), using=using)
    first = {job.key: job.id for job in first_jobs_of(held, using=using)}
    turns = Turns([], [], [])
    for key, asked in wanted.items():
        for job_id in asked:
            if key not in held:
                turns.locked.append(job_id)
            else:
                (turns.first if first.get(key) == job_id else turns.blocked).append(job_id)
    return turns


def begin_jobs(ids: Sequence[UUID], *, using: str) -> dict[UUID, int]:
    """Notes that these jobs were taken, and gives each its turn, in Unix µs; the caller holds their keys.

    A turn is greater than those before it in the key. A job that is taken again keeps its own while no other one of its
    key was taken meanwhile.
    """
    connection = connections[using]
    turns: dict[UUID, int] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(ids), CHUNK_KEYS):
            chunk = [Job._meta.pk.get_db_prep_value(job_id, connection) for job_id in ids[start : start + CHUNK_KEYS]]
            marks = ", ".join(["%s"] * len(chunk))
            cursor.execute(_BEGIN.format(ids=marks, begun_at=_BEGUN_AT[connection.vendor]), chunk)
            turns |= {read_uuid(job_id): to_unix_microseconds(read_moment(at)) for job_id, at in cursor.fetchall()}
    return turns


def prune_ordered_keys(*, most: int, using: str) -> int:
    """Deletes up to so many keys all of whose jobs are over, and gives back how many."""
    keys = OrderedKey.objects.using(using)
    jobs = Job.objects.using(using).filter(
        biz_type_id=OuterRef("biz_type_id"), flow_key=OuterRef("flow_key"), place__isnull=False,
        status__in=(*LIVE, _DEAD),
    )  # fmt: skip
    idle = keys.filter(~Exists(jobs))
    found = list(idle.values_list("id", flat=True)[:most])
    if not found:
        return 0
    with transaction.atomic(using=using):
        # Looked at again once they are locked: a job may have come meanwhile.
        held = keys.filter(id__in=found).order_by("biz_type_id", "flow_key").select_for_update(skip_locked=True)
        gone, _ = idle.filter(id__in=list(held.values_list("id", flat=True))).delete()
    return gone


def _lock(keys: Sequence[Key], *, using: str) -> set[Key]:
    """Those of the keys that are locked now; one whose row was not there is locked the next time."""
    connection = connections[using]
    held: set[Key] = set()
    for chunk in _chunks(keys):
        if not connection.features.has_select_for_update:
            _make(chunk, using=using)  # which locks the database
            held.update(chunk)
            continue
        held |= _stored(
            chunk, lock=" ORDER BY k.biz_type_id, k.flow_key FOR NO KEY UPDATE OF k SKIP LOCKED", using=using
        )
        if left := [key for key in chunk if key not in held]:
            # A row that is there is not inserted: that would wait for the transaction that holds it.
            there = _stored(left, using=using)
            if missing := [key for key in left if key not in there]:
                _make(missing, using=using)
    return held


def _stored(keys: Sequence[Key], *, lock: str = "", using: str) -> set[Key]:
    """Those of the keys that have a row; where ``lock`` says so, those that it locks."""
    which = f"(k.biz_type_id, k.flow_key) IN (VALUES {_pairs(keys)})"
    with connections[using].cursor() as cursor:
        cursor.execute(
            f"SELECT k.biz_type_id, k.flow_key FROM delayhub_ordered_key k WHERE {which}{lock}",  # noqa: S608  our own
            [value for key in keys for value in key],
        )
        return {(number, key) for number, key in cursor.fetchall()}


def _make(keys: Sequence[Key], *, using: str) -> None:
    """Rows of keys that have none, such as after an import."""
    connection = connections[using]
    clock = _CLOCK[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO delayhub_ordered_key (biz_type_id, flow_key, place) VALUES "  # noqa: S608  our own constants
            + ", ".join([f"(%s, %s, {clock})"] * len(keys))
            + " ON CONFLICT (biz_type_id, flow_key) DO NOTHING",
            [value for key in keys for value in key],
        )


def _first(which: str, values: Sequence[Any], *, using: str) -> list[FirstJob]:
    return _rows(_FIRST.format(which=which), values, using=using)


def _rows(statement: str, values: Sequence[Any], *, using: str) -> list[FirstJob]:
    with connections[using].cursor() as cursor:
        cursor.execute(statement, values)
        return [
            FirstJob(
                number, key, read_uuid(job_id), status, read_moment(next_run_at), priority,
                None if lease_until is None else read_moment(lease_until), read_moment(due_at),
            )
            for number, key, job_id, status, next_run_at, priority, lease_until, due_at in cursor.fetchall()
        ]  # fmt: skip


def _pairs(keys: Sequence[Key]) -> str:
    return ", ".join(["(%s, %s)"] * len(keys))


def _chunks(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    left = iter(keys)
    while chunk := list(islice(left, CHUNK_KEYS)):
        yield chunk
