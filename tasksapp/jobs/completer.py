"""Completer: writes what running jobs become, and does what follows from it."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connections, transaction

from delayhub.clock import Clock, due_ms, now_by
from tasksapp.biz_types.failure_counter import FailureCounter
from tasksapp.biz_types.unreadable import hold
from tasksapp.extending.outcome_hooks import Outcomes, outcome_hooks
from tasksapp.jobs import job_log
from tasksapp.jobs.at_rest import outcome_at_rest
from tasksapp.jobs.completion import undeliverable
from tasksapp.jobs.follow_ups import EndedJob, follow_up_of, make_follow_ups
from tasksapp.jobs.masking import hidden_by, hide_in
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import BizType, Job, Status, Transition
from tasksapp.models.conflicts import repeated
from tasksapp.models.database_faults import is_away, is_conflict, is_lock_timeout
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.new_job import seal_place
from tasksapp.models.sealed_value import Tampered
from tasksapp.sql.finished import Finished
from tasksapp.sql.leases import renew_leases
from tasksapp.sql.write_outcomes import write_outcomes
from tasksapp.stats.pulse_recorder import Ended, pulse_recorder
from tasksapp.timers.arming import move
from tasksapp.timers.slots import settle
from tasksapp.timers.timer import Timer

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: More callbacks than a process ever has.
UNLIMITED = 1_000_000
_AGAIN = Transition.RETRY.target


class Completion(NamedTuple):
    """A running job and what it becomes.

    Args:
        job: the job.
        finished: what its row becomes.
        receiver_is_up: what the attempt says about the receiver, for the breaker; None where it says nothing.
        cancel_others: whether the other live jobs of its business key are cancelled.
        no_token: why there is no access token for it; '' where its attempt had one, None where it wants none.
    """

    job: RunningJob
    finished: Finished
    receiver_is_up: bool | None = None
    cancel_others: bool = False
    no_token: str | None = None

    @property
    def runs_again(self) -> bool:
        """Whether the job is pending again."""
        return self.finished.status == Status.PENDING

    @property
    def is_dead(self) -> bool:
        """Whether the job is dead."""
        return self.finished.transition is Transition.GIVE_UP

    @property
    def may_be_followed(self) -> bool:
        """Whether another job may be made from what becomes of it."""
        biz_type = self.job.biz_type
        if biz_type.on_resolved:
            return True
        if not biz_type.on_success and not biz_type.on_dead:
            return False
        return follow_up_of(biz_type, status=self.finished.status) != ""

    @property
    def may_be_resolved(self) -> bool:
        """Whether an answer may change what becomes of it."""
        return self.job.biz_type.on_resolved != "" and self.finished.transition is not Transition.SUCCEED

    @property
    def as_resolved(self) -> Completion:
        """The same, as an answer has changed it: neither tried again nor dead."""
        return self._replace(finished=self.finished._replace(transition=Transition.RESOLVE_RETRY, next_run_at=None))

    @property
    def ended(self) -> EndedJob:
        """The job as it has ended."""
        row, finished = self.job.row, self.finished
        attempts = row.attempts + finished.counted
        # What was not opened, or could not be, is read where a job follows it.
        body, raw, request = ("", None, "") if self.job.is_closed else (row.body, row.raw, row.request)
        return EndedJob(
            row.id, self.job.biz_type, finished.status, row.biz_id, body, row.due_at, attempts,
            finished.last_error, finished.error_class, row.traceparent, raw, request,
            row.flow_key, is_sealed=self.job.is_sealed,
        )  # fmt: skip

    @property
    def may_hold_slot(self) -> bool:
        """Whether the job may count against a limit of jobs in flight."""
        # Not only where its biz type has a limit: an open breaker lets one callback at a time through. A callback that
        # succeeds closes the breaker, and that limit ends; but that of tokens is closed by one that carries a token.
        biz_type = self.job.biz_type
        if biz_type.has_slots:
            return True
        if biz_type.target != BizType.Target.HTTP:
            return False
        has_failed = self.finished.transition is not Transition.SUCCEED
        return has_failed or (biz_type.asks_for_token and self.no_token is None)


class Completer:
    """Completes jobs for one worker, callbacks and Celery tasks alike.

    Its statements survive a broken database connection: it is replaced, and the statement is run once more.

    Args:
        clock: Redis' time.
        worker: the name that attempts are logged with.
        using: the database.
    """

    def __init__(self, *, clock: Clock, worker: str, using: str) -> None:
        self._clock = clock
        self._worker = worker
        self._using = using
        self._failures = FailureCounter()
        #: Called with the queue of a biz type whose breaker is open, and why: its callbacks that wait in this process
        #: had better be given back.
        self.on_breaker_open: Callable[[str, str], None] = lambda queue, why: None

    def complete(self, completions: Sequence[Completion]) -> set[UUID]:
        """Writes what the jobs become, and sets the timers of those that run again.

        Gives back the ids of the jobs whose lease still held; what became of the others does not count.
        """
        by_job = {completion.job.id: completion for completion in completions}
        if len(by_job) < len(completions):
            # Two leases of one job, of which one at most holds: told apart by what is written of each.
            earlier = [completion for completion in completions if by_job[completion.job.id] is not completion]
            return self.complete(earlier) | self.complete(list(by_job.values()))
        if any(completion.job.biz_type.masked_fields for completion in completions):
            completions = [self._masked(completion) for completion in completions]
        now = now_by(self._clock)
        finished = [_at_rest(completion) for completion in completions]
        written, resolved = self._on_live_connection(lambda: self._write(completions, finished, now=now))
        if resolved:
            completions = _with_resolved(completions, resolved)
        kept = completions
        if len(written) < len(completions):
            kept = [completion for completion in completions if completion.job.id in written]
            _log_lost([completion.job for completion in completions if completion.job.id not in written])
        # Most jobs succeed, and what is asked about the others is not asked about them.
        failed = [completion for completion in kept if completion.finished.transition is not Transition.SUCCEED]
        self._log(kept, failed)
        self._report_to_breakers(completions)
        self._count(kept, failed)
        self._free_slots(completions, written=written)
        again = [
            Timer.of(completion.job.row, completion.job.biz_type, at=completion.finished.next_run_at)
            for completion in failed
            if completion.runs_again
        ]
        outcomes, hooks = Outcomes(completions, kept, now, self._using, self._on_live_connection), outcome_hooks.all
        for hook in hooks:
            if hook.timers is not None:
                again += hook.timers(outcomes)
        if again:
            # Put, not ensured: the timer of this attempt may still be leased, and its acknowledgement must not end the
            # next one.
            move(again)
        for hook in hooks:
            if hook.follow is not None:
                hook.follow(outcomes)
        return written

    def put_off(self, unreadable: Sequence[tuple[RunningJob, SecretUnreadable]]) -> None:
        """Gives back jobs of which something cannot be decrypted, and holds their biz types where a key is missing."""
        now = now_by(self._clock)
        self.complete([Completion(job, undeliverable(job, error, now=now)) for job, error in unreadable])
        hold([job.biz_type for job, error in unreadable if not isinstance(error, Tampered)], using=self._using)

    def renew(self, jobs: Sequence[RunningJob]) -> set[UUID]:
        """Renews the leases of the jobs, and gives back the ids of those whose lease still held."""
        now = now_by(self._clock)
        leases = [(job.id, job.token, now + timedelta(seconds=job.lease_seconds)) for job in jobs]
        return self._on_live_connection(lambda: renew_leases(leases, using=self._using))

    def probes(self, queue: str) -> int:
        """How many callbacks of the biz type may begin while Redis is away, by what this process has seen itself."""
        allowed = self._failures.probes(queue)
        return UNLIMITED if allowed is None else allowed

    def close(self) -> None:
        """Closes this thread's database connection."""
        connections[self._using].close()

    def _masked(self, completion: Completion) -> Completion:
        """The completion with masks in what came back: no row, line or alert has values of masked fields then."""
        hide = self._on_live_connection(lambda: hidden_by(completion.job, using=self._using))
        return completion if hide is None else completion._replace(finished=hide_in(completion.finished, hide))

    def _write(
        self, completions: Sequence[Completion], finished: Sequence[Finished], *, now: datetime
    ) -> tuple[set[UUID], set[UUID]]:
        """Writes the outcomes, and with them the jobs that follow, where biz types want that.

        Gives back which were written, and which of them are resolved by it; that is asked only where answers count.
        """
        following = [completion for completion in completions if completion.may_be_followed]
        if not following:
            return write_outcomes(finished, now=now, worker=self._worker, using=self._using), set()
        asking = {completion.job.id for completion in following if completion.may_be_resolved}
        with transaction.atomic(using=self._using):
            written = write_outcomes(finished, now=now, worker=self._worker, using=self._using, hearing=asking)
            resolved = set()
            if asked := asking & written:
                rows = Job.objects.using(self._using).filter(id__in=asked, status=Transition.RESOLVE_RETRY.target)
                resolved = set(rows.values_list("id", flat=True))
            ended = [completion.ended for completion in _with_resolved(following, resolved)]
            make_follow_ups([job for job in ended if job.id in written and job.status != _AGAIN], using=self._using)
        return written, resolved

    def _on_live_connection(self, statement: Callable[[], T]) -> T:
        """What the statement gives back; where the connection is broken, it is run once more on a new one.

        Each statement is guarded by the job's token, so it has no effect a second time.
        """
        connection, statement = connections[self._using], repeated(statement)
        try:
            return statement()
        except (DatabaseError, InterfaceError) as error:
            if connection.in_atomic_block or not is_away(error) or is_lock_timeout(error) or is_conflict(error):
                raise  # a transaction cannot go on elsewhere, and another connection meets the same transactions
            logger.warning("trying again on a new database connection: %s", error, extra={"action": "reconnect"})
            connection.close()
            return statement()

    def _log(self, kept: Sequence[Completion], failed: Sequence[Completion]) -> None:
        """A line for each job that did not succeed; for those that did only where all lines are wanted."""
        debugs = job_log.debugs()
        for completion in kept if debugs else failed:
            _log(completion, debugs=debugs)

    def _count(self, kept: Sequence[Completion], failed: Sequence[Completion]) -> None:
        """Counts the attempts, and the jobs that died without one, for pages and metrics."""
        now_ms = self._clock.now_ms()
        pulse_recorder.counts.add(_ended(kept), now_ms=now_ms)
        deaths = [
            (completion.job.row.biz_type_id, completion.finished.error_class)
            for completion in failed
            if completion.finished.tried is None and completion.is_dead
        ]
        if deaths:
            pulse_recorder.counts.add_deaths(deaths, now_ms=now_ms)

    def _free_slots(self, completions: Sequence[Completion], *, written: Set[UUID]) -> None:
        """Frees what the jobs may count against limits of jobs in flight, also where their leases were lost.

        Where they were, another may have the job by now: its slot was taken later than this lease, and stays.
        """
        slots: dict[tuple[str, str], list[UUID]] = defaultdict(list)
        for completion in completions:
            job, biz_type = completion.job, completion.job.biz_type
            if completion.may_hold_slot and job.id in written:
                slots[biz_type.timer_lane, biz_type.queue].append(job.id)
            elif completion.may_hold_slot:
                claimed_ms = due_ms(job.claimed_at)
                settle(biz_type.timer_lane, biz_type.queue, [job.id], ended_ms=claimed_ms, is_late=True)
        for (lane, queue), ids in slots.items():
            settle(lane, queue, ids, ended_ms=self._clock.now_ms())

    def _report_to_breakers(self, completions: Sequence[Completion]) -> None:
        """Opens the breakers of biz types whose receivers are down, and closes those whose receivers are up again."""
        by_biz_type: dict[int, list[Completion]] = defaultdict(list)
        for completion in completions:
            if completion.receiver_is_up is not None or completion.no_token:
                by_biz_type[completion.job.biz_type.id].append(completion)
        for group in by_biz_type.values():
            biz_type = group[0].job.biz_type
            heard = Counter(completion.receiver_is_up for completion in group)
            # Why there is none counts more than that there was one.
            no_token = max((one.no_token for one in group if one.no_token is not None), default=None)
            now_ms = self._clock.now_ms()
            if self._failures.record(
                biz_type, failed=heard[False], succeeded=heard[True] > 0, now_ms=now_ms, no_token=no_token
            ):
                self.on_breaker_open(biz_type.queue, no_token or "the receiver is down")


def _with_resolved(completions: Sequence[Completion], resolved: Set[UUID]) -> list[Completion]:
    return [one.as_resolved if one.job.id in resolved else one for one in completions]


def _at_rest(completion: Completion) -> Finished:
    """What is stored of the outcome."""
    job, finished = completion.job, completion.finished
    if not job.is_sealed:
        return finished
    return outcome_at_rest(finished, place=seal_place(job.row.biz_type_id, job.id))


def _log(completion: Completion, *, debugs: bool) -> None:
    (row, biz_type, *_), finished = completion.job, completion.finished
    number, kind, why = completion.job.attempt_number, finished.error_class, finished.last_error
    if completion.job.is_sealed:
        why = f"{kind} (the rest is encrypted)"
    again = f"; next at {finished.next_run_at.isoformat()}" if finished.next_run_at else ""
    match finished.transition:
        case Transition.GIVE_UP:
            job_log.note_death(row, biz_type, why, attempt=number if finished.tried else 0, kind=kind)
        case Transition.RETRY:
            said = f"failed: {why}{again}"
            job_log.note(job_log.Event.FAILED, row, biz_type, said, level=logging.WARNING, attempt=number, kind=kind)
        case Transition.RESOLVE_RETRY:
            said = f"failed: {why}; it is resolved, and not tried again"
            job_log.note(job_log.Event.FAILED, row, biz_type, said, level=logging.WARNING, attempt=number, kind=kind)
        case Transition.GIVE_BACK if finished.system_errors:
            said = f"is given back: {why}{again}"
            job_log.note(job_log.Event.RETURNED, row, biz_type, said, level=logging.WARNING, kind=kind)
        case Transition.GIVE_BACK if debugs:
            job_log.note(job_log.Event.RETURNED, row, biz_type, f"is given back: {why}{again}", kind=kind)
        case Transition.SUCCEED:
            took = f" in {finished.tried.duration_ms} ms" if finished.tried else ""
            job_log.note(job_log.Event.SUCCEEDED, row, biz_type, f"succeeded{took}", attempt=number)


def _log_lost(jobs: Sequence[RunningJob]) -> None:
    for job in jobs:
        logger.warning(
            "the lease of job %s was lost; its outcome does not count",
            job.id,
            extra={"action": "write", "job_id": str(job.id)},
        )


def _ended(completions: Sequence[Completion]) -> Iterator[Ended]:
    """The attempts, as the numbers count them."""
    for job, finished, *_ in completions:
        tried = finished.tried
        if tried is not None:
            is_dead = finished.transition is Transition.GIVE_UP
            yield Ended(job.row.biz_type_id, finished.error_class, is_dead, tried.lateness_ms, tried.duration_ms)
