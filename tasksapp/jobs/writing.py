"""Writing: accepted requests on their way into the database, what becomes of them, and their timers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from uuid import UUID

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from delayhub.clock import due_ms
from tasksapp.biz_types.insert_limit import InsertLimit
from tasksapp.conf import options
from tasksapp.errors import JobDeleted, KeyTaken, OneIsLive
from tasksapp.jobs import job_log
from tasksapp.jobs.at_rest import at_rest, seal_replaced
from tasksapp.jobs.flow_order import arm_keys
from tasksapp.jobs.one_live import keeps_one, write_live
from tasksapp.jobs.requests import DAY, Accepted, Rejected
from tasksapp.models import BizType, Job, NewJob
from tasksapp.sql.answers import end_links
from tasksapp.sql.claim_keys import KeyClaim, claim_keys, repoint_key
from tasksapp.sql.insert_jobs import insert_jobs
from tasksapp.sql.ordered_keys import keys_in_order, placed
from tasksapp.sql.replace_jobs import Debounced, replace_jobs
from tasksapp.timers.arming import arm, move
from tasksapp.timers.timer import Groups, Timer, grouped

ANY, UNORDERED = BizType.OneLive.ANY, BizType.Ordered.NO


@dataclass(slots=True)
class Batch:
    """What jobs that are created together share: when, where, whether their timers are set, and who creates them.

    ``key_wait_seconds``: how long to wait for a rival with the same idempotency key; None for as long as it takes.
    ``limits``: what is left of the insert rates that were asked.
    """

    now: datetime
    using: str
    armed: bool | None = None
    created_by: str = ""
    key_wait_seconds: float | None = None
    limits: Sequence[InsertLimit] = ()


@dataclass(kw_only=True)  # not frozen: that doubles the cost of making one
class Created:
    """A job that exists now.

    Args:
        job_id: its id.
        created: False where an earlier request made it.
        replaced: whether this request took the place of another one's, of the same debounce key, that still waited.
        was_past: whether the due time had passed already; the job fires at once.
        batch: what it shares with the jobs that were created together with it.
        biz_type: its biz type.
        row: its row as it was created; None where an earlier request made it.
    """

    job_id: UUID
    created: bool
    replaced: bool
    was_past: bool
    batch: Batch = field(repr=False)
    biz_type: BizType = field(repr=False)
    row: NewJob | None = field(default=None, repr=False)

    @property
    def armed(self) -> bool | None:
        """Whether its timer is set, as far as it needs one; None while the transaction is open."""
        return self.batch.armed

    @cached_property
    def job(self) -> Job:
        """The job as it was created, or as it is now where an earlier request made it.

        Raises JobDeleted: an idempotency key may be kept for longer than its job.
        """
        if self.row is None:
            found = Job.objects.using(self.batch.using).filter(id=self.job_id).first()
            if found is None:
                raise JobDeleted(self.job_id)
            return found
        job = Job.of(self.row, now=self.batch.now, created_by=self.batch.created_by)
        job._state.adding, job._state.db = False, self.batch.using
        return job


@dataclass
class Writing:
    """Accepted requests on their way into the database, and what becomes of them.

    Args:
        accepted: the requests.
        batch: when and where their jobs are created.
        connection: the connection of that database.
        earlier: by row id, the job that the request's idempotency key made before, or the refusal.
        became: by row id, the job that the request's debounce key stands for now.
        replaced: row ids of the requests whose content that job has now, in the place of what it had.
        refused: by row id, the refusal where another job of the biz id is live.
        sealed: whether any of them is encrypted at rest.
        outcomes: what each caller gets, once the rows are written.
        asks: whether one of them may wait for an answer.
    """

    accepted: Sequence[Accepted]
    batch: Batch
    connection: BaseDatabaseWrapper
    earlier: dict[UUID, UUID | KeyTaken] = field(default_factory=dict)
    became: dict[UUID, UUID] = field(default_factory=dict)
    replaced: set[UUID] = field(default_factory=set)
    refused: dict[UUID, OneIsLive] = field(default_factory=dict)
    sealed: bool = False
    outcomes: Sequence[Created | Rejected] = ()
    asks: bool = False

    def save(self) -> None:
        """Writes them, in the caller's transaction if there is one."""
        keyed = debounced = live = ordered = sealed = False
        for request in self.accepted:  # four generators would cost a single create 3 µs
            keyed = keyed or request.key is not None
            debounced = debounced or bool(request.row.debounce_key)
            live = live or request.biz_type.one_live != ANY
            ordered = ordered or request.biz_type.ordered != UNORDERED
            self.asks = self.asks or bool(request.biz_type.on_resolved)
            sealed = sealed or request.is_sealed
        self.sealed = sealed
        # A statement alone is a transaction already; several need one around them.
        if keyed or live or ordered or (debounced and (sealed or self.asks or len(self.accepted) > 1)):
            with transaction.atomic(using=self.batch.using):
                self._write(keyed=keyed, debounced=debounced, live=live, ordered=ordered)
        else:
            self._write(keyed=keyed, debounced=debounced, live=live, ordered=False)

    def _outcome(self, request: Accepted) -> Created | Rejected:
        own = request.row.id
        earlier = self.earlier.get(own)
        if isinstance(earlier, KeyTaken):
            job_id = self.became.get(earlier.job_id, earlier.job_id)
            return Rejected(KeyTaken(earlier.key, job_id, is_known=earlier.is_known))
        if own in self.refused:
            return Rejected(self.refused[own])
        job_id = earlier or own
        job_id = self.became.get(job_id, job_id)
        if job_id == own:
            return self._created(request)
        was_past = request.row.due_at < self.batch.now
        batch, biz_type, replaced = self.batch, request.biz_type, own in self.replaced
        return Created(
            job_id=job_id, created=False, replaced=replaced, was_past=was_past, batch=batch, biz_type=biz_type
        )

    def _created(self, request: Accepted) -> Created:
        row, batch = request.row, self.batch
        # A job in order that is due at once has the time of the database's clock, which may be behind ours.
        was_past = request.request.due_at is not None and row.due_at < batch.now
        return Created(
            job_id=row.id,
            created=True,
            replaced=False,
            was_past=was_past,
            batch=batch,
            biz_type=request.biz_type,
            row=row,
        )

    def _write(self, *, keyed: bool, debounced: bool, live: bool, ordered: bool) -> None:
        if keyed:
            self._claim_keys()
        fresh = [request for request in self.accepted if request.row.id not in self.earlier] if keyed else self.accepted
        if ordered:
            fresh = self._placed(fresh)
        plain = [request for request in fresh if not request.row.debounce_key] if debounced else fresh
        if live:
            plain = [request for request in plain if not keeps_one(request)]
        added: Groups = {}

        def prepare() -> None:
            nonlocal added
            added = _timers_of([request for request in plain if request.row.place is None] if ordered else plain)
            self.outcomes = [self._created(request) for request in plain]

        if plain:
            rows, batch = [request.row for request in (at_rest(plain) if self.sealed else plain)], self.batch
            insert_jobs(rows, now=batch.now, using=batch.using, created_by=batch.created_by, meanwhile=prepare)
        moved = self._replace(fresh) if debounced else []
        more = self._write_live(fresh, moved) if live else {}
        if self.asks and self.replaced:
            asking = [request.row.id for request in fresh if request.biz_type.on_resolved]
            end_links([self.became[row_id] for row_id in asking if row_id in self.replaced], using=self.batch.using)
        if len(plain) < len(self.accepted):
            self.outcomes = [self._outcome(request) for request in self.accepted]

        def set_timers() -> None:
            # All are tried: a replaced job may run later than its timer says, which only a move puts right.
            more_in_time = not more or arm(more)
            in_time = arm(added) and more_in_time
            self.batch.armed = (not moved or move(moved)) and in_time
            if ordered and (keys := keys_in_order(request.row for request in fresh)):
                self.batch.armed = arm_keys(keys, using=self.batch.using) and self.batch.armed
            if job_log.debugs():
                self._log()

        self.connection.on_commit(set_timers, robust=True)

    def _placed(self, requests: Sequence[Accepted]) -> list[Accepted]:
        """The requests with the places of their jobs, before anything is written that another one may wait for."""
        batch = self.batch
        rows = placed(
            [request.row for request in requests],
            ordered={request.biz_type.pk for request in requests if request.biz_type.is_ordered},
            delayed={request.row.id for request in requests if request.request.due_at is None},
            now=batch.now,
            using=batch.using,
        )
        found = {row.id: request._replace(row=row) for request, row in zip(requests, rows, strict=True)}
        self.accepted = [found.get(request.row.id, request) for request in self.accepted]
        return list(found.values())

    def _log(self) -> None:
        """A line for each job that is there now."""
        for request, outcome in zip(self.accepted, self.outcomes, strict=True):
            if not isinstance(outcome, Created) or not (outcome.created or outcome.replaced):
                continue
            event = job_log.Event.CREATED if outcome.created else job_log.Event.REPLACED
            job = request.row if outcome.created else request.row._replace(id=outcome.job_id)
            by = f" by {self.batch.created_by}" if self.batch.created_by else ""
            job_log.note(event, job, request.biz_type, f"{event}{by}, due {job.due_at.isoformat()}")

    def _replace(self, requests: Sequence[Accepted]) -> list[Timer]:
        """Writes those with a debounce key; of several with the same key the last one counts."""
        latest = {(d.row.biz_type_id, d.row.debounce_key): d for d in requests if d.row.debounce_key}
        writing = [Debounced(request.row, request.max_wait or DAY) for request in at_rest(latest.values())]
        batch = self.batch
        became = replace_jobs(writing, now=batch.now, using=batch.using, created_by=batch.created_by)
        for request in requests:
            if not request.row.debounce_key:
                continue
            job_id = became[latest[request.row.biz_type_id, request.row.debounce_key].row.id].job_id
            self.became[request.row.id] = job_id
            if request.key is not None and job_id != request.row.id:
                repoint_key(request.row.biz_type_id, request.key, job_id, using=self.batch.using)
        self.replaced = {row_id for row_id, (job_id, _) in became.items() if job_id != row_id}
        seal_replaced(latest.values(), self.became, using=batch.using)
        return [
            _timer(request, job_id)._replace(next_run_at=next_run_at)
            for request in latest.values()
            if request.row.place is None
            for job_id, next_run_at in [became[request.row.id]]
        ]

    def _write_live(self, requests: Sequence[Accepted], moved: list[Timer]) -> Groups:
        """Writes those whose biz type keeps one live job of a biz id, and gives back the timers of the new jobs."""
        batch = self.batch
        single = [request for request in requests if keeps_one(request)]
        wrote = write_live(at_rest(single), now=batch.now, using=batch.using, created_by=batch.created_by)
        self.became |= {row_id: job.job_id for row_id, job in wrote.moved.items()}
        self.replaced |= wrote.moved.keys()
        self.refused = wrote.refused
        seal_replaced((each for each in single if each.row.id in wrote.moved), self.became, using=batch.using)
        # Of several of one biz id the last one counts.
        latest = {
            job.job_id: _timer(request, job.job_id)._replace(next_run_at=job.next_run_at)
            for request in single
            if (job := wrote.moved.get(request.row.id)) is not None and request.row.place is None
        }
        moved += latest.values()
        made = (request for request in single if request.row.id in wrote.made and request.row.place is None)
        return grouped(_timer(request, request.row.id) for request in made)

    def _claim_keys(self) -> None:
        """Finds the requests whose idempotency key was used before."""
        claims: dict[tuple[int, str], KeyClaim] = {}
        hashes: dict[UUID, str] = {}
        for request in self.accepted:
            if request.key is not None:
                hashes[request.row.id] = request.request_hash()
                claim = KeyClaim(request.row.biz_type_id, request.key, hashes[request.row.id], request.row.id)
                claims.setdefault((claim.biz_type_id, claim.key), claim)
        expires_at = self.batch.now + timedelta(hours=options().idempotency_hours)
        holders = claim_keys(
            list(claims.values()),
            now=self.batch.now,
            expires_at=expires_at,
            using=self.batch.using,
            wait_seconds=self.batch.key_wait_seconds,
        )
        for request in self.accepted:
            if request.key is None:
                continue
            holder = holders[request.row.biz_type_id, request.key]
            known = holder.request_hash
            is_same = known == hashes[request.row.id] or request.is_of(known)
            if not is_same:
                self.earlier[request.row.id] = KeyTaken(request.key, holder.job_id, is_known=is_same is not None)
            elif holder.job_id != request.row.id:
                self.earlier[request.row.id] = holder.job_id


def _timers_of(requests: Sequence[Accepted]) -> Groups:
    """The timers of new jobs; the same as ``grouped``, but a biz type is asked once where its jobs are many."""
    groups: dict[tuple[str, str, int, str], list[tuple[str, int]]] = {}
    known: dict[tuple[int, int, str], list[tuple[str, int]]] = {}
    for request in requests:
        row = request.row
        group = known.get((row.biz_type_id, row.priority, row.flow_key))
        if group is None:
            biz_type = request.biz_type
            group = groups.setdefault((biz_type.timer_lane, biz_type.queue, row.priority, row.flow_key), [])
            known[row.biz_type_id, row.priority, row.flow_key] = group
        group.append((str(row.id), due_ms(row.due_at)))
    return groups


def _timer(request: Accepted, job_id: UUID) -> Timer:
    row, biz_type = request.row, request.biz_type
    return Timer(biz_type.timer_lane, biz_type.queue, job_id, row.due_at, row.priority, row.flow_key)
