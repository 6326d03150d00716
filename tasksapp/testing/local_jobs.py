"""Jobs in tests, as ``delayhub.testing`` offers them: run in the caller's transaction, without Redis and worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from celery import current_app
from celery.exceptions import Ignore, Retry
from django.db import router, transaction
from django.db.models import DateTimeField, Exists, F, Model, OuterRef
from django.test.utils import TestContextDecorator
from django.utils import timezone

from delayhub.celery_support.delayed_task import JOB_HEADER, NOW_HEADER, DelayedTask
from delayhub.errors import UnknownTask
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.biz_types.token_share import RedisTokenShare
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.answers import judge
from tasksapp.delivery.authorized_sender import AuthorizedSender
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcomes import CallbackResult, Response
from tasksapp.delivery.sender import Sender, header_text
from tasksapp.delivery.token_keeper import TokenKeeper
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer
from tasksapp.models import (
    AnswerLink,
    Attempt,
    BizType,
    IdempotencyKey,
    Job,
    OrderedKey,
    PausedKey,
    Series,
    Status,
    Tombstone,
)
from tasksapp.series.maker import SeriesMaker
from tasksapp.sql.claim_answer import ClaimedJob
from tasksapp.tasks import run_task, task_of
from tasksapp.timers.lanes import client, without_redis
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.job_callbacks import JobCallbacks

WORKER = "tests"
#: Times from here on mean "until a person says otherwise", and come no nearer.
NEVER = datetime(9000, 1, 1, tzinfo=UTC)
#: Further than any two occurrences of a series are apart.
AWAY = timedelta(days=73_000)
#: What comes nearer when time passes.
MOVED: tuple[type[Model], ...] = (
    *(Job, Attempt, IdempotencyKey, BizType, Series, Tombstone, PausedKey, OrderedKey, AnswerLink),
)


@dataclass(frozen=True, slots=True)
class SentCallback:
    """A callback as its receiver gets it.

    Args:
        url: the address.
        method: POST, PUT or PATCH.
        headers: what is signed, and what the biz type adds.
        body: the exact bytes.
    """

    url: str
    method: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class RanJob:
    """One attempt of a job.

    Args:
        job: its row afterwards, with its biz type.
        result: what its task gave back.
        error: what its task raised; also where it will be tried again.
        callback: the callback, where it has no task.
    """

    job: Job
    result: Any = None
    error: Exception | None = None
    callback: SentCallback | None = None


Receive = Callable[[SentCallback], int]


class WithoutTimers(TestContextDecorator):
    """A context, and a decorator of test classes and functions: nothing of this process reaches the timers' Redis.

    Biz types are read again when it begins.
    """

    def __init__(self) -> None:
        super().__init__()
        self._open = ExitStack()

    def enable(self) -> None:
        """Keeps Redis out."""
        biz_type_cache.clear()
        self._open.enter_context(without_redis())

    def disable(self) -> None:
        """Lets it in again."""
        self._open.close()


def run_due_jobs(*, receive: Receive | None, send: bool, limit: int) -> list[RanJob]:
    """Runs every job that is due, until none is left; ``delayhub.testing`` says more."""
    run = _Run(receive=receive or (lambda callback: 200), send=send)
    with WithoutTimers():
        return run.to_the_end(limit=limit)


def bring_nearer(jump: timedelta) -> None:
    """Moves all times of jobs, series and biz types back by so much, and those of what belongs to them."""
    using = router.db_for_write(Job)
    for model in MOVED:
        names = [field.name for field in model._meta.get_fields() if isinstance(field, DateTimeField)]
        for name in names:
            rows = model._default_manager.using(using).filter(**{f"{name}__lt": NEVER})
            # A series has one job at a time, and rows are moved one after another: first out of each other's way.
            steps = (AWAY, jump - AWAY) if (model, name) == (Job, "occurrence_at") else (jump,)
            with transaction.atomic(using=using):
                for step in steps:
                    rows.update(**{name: F(name) - step})
    for series in Series.objects.using(using).exclude(times=[]):
        times = [(datetime.fromisoformat(at) - jump).isoformat() for at in series.times]
        Series.objects.using(using).filter(pk=series.pk).update(times=times)
    biz_type_cache.clear()


class _Run:
    """One call of ``run_due_jobs``."""

    def __init__(self, *, receive: Receive, send: bool) -> None:
        self._receive = receive
        self._send = send
        self._using = router.db_for_write(Job)
        self._clock = RedisClock(client)
        self._claimer = Claimer(clock=self._clock, worker=WORKER, using=self._using)
        completer = Completer(clock=self._clock, worker=WORKER, using=self._using)
        self._callbacks = JobCallbacks(clock=self._clock, completer=completer)
        #: Jobs that wait for another one of their flow key.
        self._blocked: set[UUID] = set()
        self._series = SeriesMaker(using=self._using, clock=self._clock)

    def to_the_end(self, *, limit: int) -> list[RanJob]:
        """Runs what is due, and what becomes due by that."""
        ran: list[RanJob] = []
        left: set[UUID] = set()
        while job_id := self._next(left):
            if len(ran) == limit:
                raise RuntimeError(f"{limit} jobs ran and more are due: does one of them make the next?")
            done = self._attempt(job_id)
            if done is None:
                left.add(job_id)  # its biz type is paused, it is too late for it, or another one comes first
            else:
                left -= self._blocked
                ran.append(done)
        return ran

    def _next(self, left: set[UUID]) -> UUID | None:
        # A worker makes the jobs of series beside it.
        while self._series.run_once().has_more:
            pass
        now = timezone.now()
        # A worker learns from Redis which flow keys are paused.
        key = {"biz_type_id": OuterRef("biz_type_id"), "flow_key": OuterRef("flow_key")}
        paused = Exists(PausedKey.objects.filter(**key, until__gt=now))
        due = Job.objects.using(self._using).filter(status=Status.PENDING, next_run_at__lte=now).exclude(paused)
        return due.exclude(id__in=left).order_by("next_run_at", "priority", "id").values_list("id", flat=True).first()

    def _attempt(self, job_id: UUID) -> RanJob | None:
        now_ms, claimed_at = self._clock.now_ms(), self._clock.monotonic()
        answer = self._claimer.claim_due([job_id], now_ms=now_ms)
        self._blocked.update(answer.blocked)
        for forwarded in answer.forwarded:
            return self._run_task(forwarded, now_ms=now_ms)
        for callback in self._callbacks.make(self._claimer.running_jobs(answer), claimed_at=claimed_at):
            return self._deliver(job_id, callback)
        return None

    def _run_task(self, claimed: ClaimedJob, *, now_ms: int) -> RanJob:
        biz_type = biz_type_cache.as_of(claimed.biz_type_id, revision=claimed.biz_type_revision, using=self._using)
        task: Any = task_of(current_app, biz_type)
        if task is None:
            raise UnknownTask(f"no task is registered as {biz_type.task_name!r} in this process: import its module")
        result, error = None, None
        plain = not isinstance(task, DelayedTask)
        runs: Any = run_task if plain else task
        headers = {JOB_HEADER: str(claimed.id), NOW_HEADER: now_ms}
        runs.push_request(headers=headers, hostname=WORKER, called_directly=False, id=str(claimed.id))
        try:
            # Calling a plain task would hide the request.
            result = runs.run(biz_type.task_name) if plain else runs()
        except Ignore:
            pass
        except Retry as again:
            error = again.exc or again
        except Exception as raised:
            error = raised
        finally:
            runs.pop_request()
        return RanJob(self._row(claimed.id), result=result, error=error)

    def _deliver(self, job_id: UUID, callback: Callback) -> RanJob:
        started_ms = self._clock.now_ms()
        target = callback.target
        sent = SentCallback(target.url, target.method, _headers_of(callback, started_ms), callback.body)
        if self._send:
            result = asyncio.run(self._post(callback))
        else:
            code = self._receive(sent)
            outcome = judge(target, code, {}, now_ms=started_ms)
            result = CallbackResult(callback, outcome, started_ms, 0, Response(code, {}, ""))
        self._callbacks.write([result])
        return RanJob(self._row(job_id), callback=sent)

    async def _post(self, callback: Callback) -> CallbackResult:
        guard, clock = AddressGuard(options().allowed_networks), self._clock
        tokens = TokenKeeper(guard=guard, clock=clock, share=RedisTokenShare(clock), hold_seconds=0.0, insists=True)
        plain = Sender(guard=guard, clock=clock, response_bytes=options().response_bytes)
        sender = AuthorizedSender(plain, tokens=tokens, clock=clock)
        try:
            return await sender.send(callback)
        finally:
            await sender.close()

    def _row(self, job_id: UUID) -> Job:
        return Job.objects.using(self._using).select_related("biz_type").get(id=job_id)


def _headers_of(callback: Callback, started_ms: int) -> dict[str, str]:
    own = dict(line.split(": ", 1) for line in header_text(callback, started_ms).splitlines())
    target = callback.target
    authorization = {"Authorization": target.authorization} if target.authorization else {}
    kind = {"Content-Type": target.content_type, "delayhub-biz-type": target.biz_type}
    return {**dict(target.headers), **kind, **authorization, **own}
