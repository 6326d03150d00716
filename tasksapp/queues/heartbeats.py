"""Heartbeats: what each worker process leaves in the timers' Redis every few seconds, and what that says of workers.

A process has one key with an end, so that one that was killed is gone when the key ends. The children of a prefork pool
write only what their parent cannot know; a reader adds it to the parent's.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Self

import redis
from django.utils import timezone

from delayhub.clock import moment
from delayhub.engine.keys import worker, workers
from tasksapp.conf import options
from tasksapp.timers.broker import timer_prefix
from tasksapp.timers.lanes import watched, watched_lane

#: A process writes this often, and its key ends after so long without a heartbeat.
BEAT_SECONDS, KEPT_SECONDS = 5.0, 15
#: Running tasks, and ids of messages that wait in the worker, that one heartbeat names at most.
NAMED_TASKS = 100


class RunningTask(NamedTuple):
    """A task that a worker runs: its id, its name, and since when; None where its process has not begun yet."""

    id: str
    name: str
    since: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Beat:
    """What one process writes; times are Redis' in Unix ms, 0 for never.

    Args:
        name: its name in Redis.
        parent: that of the process whose pool it belongs to; '' for a worker's main process.
        host: its machine.
        pid: its process id.
        node: the name that Celery knows the worker by.
        version: DelayHub's.
        pool: ``prefork``, ``threads``, ``solo``, …
        concurrency: how many tasks it runs at once.
        queues: the queues that it takes, timer lanes too.
        open_callbacks: callbacks that wait for their answer in this process.
        tasks: (id, name, since) of running tasks, as many as are named.
        running_count: how many run.
        held: ids of messages that it holds and has not begun, as many as are named.
        last_claim_ms: when it last took jobs.
        started_ms: when it began.
        seen_ms: when this was written.
        is_loader: whether its loader has the seat.
        purged_ms: when it last deleted old jobs.
        purged_jobs: how many it deleted then, within one second.
    """

    name: str
    parent: str = ""
    host: str = ""
    pid: int = 0
    node: str = ""
    version: str = ""
    pool: str = ""
    concurrency: int = 0
    queues: Sequence[str] = ()
    open_callbacks: int = 0
    tasks: Sequence[Sequence[Any]] = ()
    running_count: int = 0
    held: Sequence[str] = ()
    last_claim_ms: int = 0
    started_ms: int = 0
    seen_ms: int = 0
    is_loader: bool = False
    purged_ms: int = 0
    purged_jobs: int = 0

    @classmethod
    def parse(cls, raw: bytes) -> Self | None:
        """A heartbeat as it stands in Redis, also one of another release; None for what is none."""
        try:
            found: Mapping[str, Any] = json.loads(raw)
            return cls(**{field.name: found[field.name] for field in fields(cls) if field.name in found})
        except (ValueError, TypeError):
            return None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerBeat(Beat):
    """A worker with its pool, as its last heartbeats describe it; times are by the clock of the process that asks.

    Its name is Celery's, or host and process.

    Args:
        lanes: the timer lanes among its queues.
        running: the tasks that run, 100 at most.
        last_claim_at: when it last took jobs; None for never.
        started_at: when it began.
        seen_at: when it last wrote.
        purged_at: when it last deleted old jobs; None for never.
    """

    lanes: tuple[str, ...]
    running: tuple[RunningTask, ...]
    last_claim_at: datetime | None
    started_at: datetime | None
    seen_at: datetime
    purged_at: datetime | None


def write_beat(client: redis.Redis, beat: Beat) -> None:
    """Stores the heartbeat for 15 seconds. Raises RedisError, and OptionError without a broker of ours."""
    prefix = timer_prefix()
    with client.pipeline(transaction=False) as pipeline:
        pipeline.set(worker(prefix, beat.name), json.dumps(asdict(beat), separators=(",", ":")), ex=KEPT_SECONDS)
        pipeline.sadd(workers(prefix), beat.name)
        pipeline.execute()


def remove_beat(client: redis.Redis, name: str) -> None:
    """Removes the heartbeat of a process that ends. Raises what :func:`write_beat` does."""
    prefix = timer_prefix()
    with client.pipeline(transaction=False) as pipeline:
        pipeline.delete(worker(prefix, name))
        pipeline.srem(workers(prefix), name)
        pipeline.execute()


def read_workers() -> list[WorkerBeat]:
    """The workers that wrote within the last 15 seconds, by host and process. Two round trips, a second at most.

    Workers without the Django app write nothing, so they are not among them.

    Raises RedisError or OSError where Redis does not answer, OptionError where the settings name none.
    """
    return watched(_read_workers)


def _read_workers() -> list[WorkerBeat]:
    client, prefix = watched_lane(options().lanes[0]).client, timer_prefix()
    names = sorted(_text(name) for name in client.smembers(workers(prefix)))
    if not names:
        return []
    with client.pipeline(transaction=False) as pipeline:
        pipeline.time()
        for name in names:
            pipeline.get(worker(prefix, name))  # one by one: in a cluster each key has its own slot
        (seconds, micros), *raws = pipeline.execute()
    if gone := [name for name, raw in zip(names, raws, strict=True) if raw is None]:
        client.srem(workers(prefix), *gone)
    beats = [beat for raw in raws if raw is not None and (beat := Beat.parse(raw)) is not None]
    ahead = timezone.now() - moment(seconds * 1000 + micros // 1000)
    found = [known for beat in _merged(beats) if (known := _worker(beat, ahead)) is not None]
    return sorted(found, key=lambda beat: (beat.host, beat.pid))


def _merged(beats: Sequence[Beat]) -> list[Beat]:
    """The heartbeats of main processes with what their children wrote; a child without a parent stands for itself."""
    mains = {beat.name for beat in beats if not beat.parent}
    children: dict[str, list[Beat]] = defaultdict(list)
    for beat in beats:
        if beat.parent in mains:
            children[beat.parent].append(beat)
    return [
        replace(
            beat,
            open_callbacks=beat.open_callbacks + sum(child.open_callbacks for child in children[beat.name]),
            last_claim_ms=max([beat.last_claim_ms, *(child.last_claim_ms for child in children[beat.name])]),
        )
        for beat in beats
        if beat.parent not in mains
    ]


def _worker(beat: Beat, ahead: timedelta) -> WorkerBeat | None:
    """The worker of a heartbeat, None for one of another release that cannot be read.

    Args:
        beat: the heartbeat.
        ahead: how far this process' clock is ahead of Redis'.
    """
    try:
        return _read(beat, ahead)
    except (TypeError, ValueError):
        return None


def _read(beat: Beat, ahead: timedelta) -> WorkerBeat:

    def here(at_ms: int) -> datetime | None:
        return moment(at_ms) + ahead if at_ms else None

    lanes = set(options().lanes)
    written = {field.name: getattr(beat, field.name) for field in fields(beat)}
    named = {"name": beat.node or f"{beat.host}:{beat.pid}", "queues": tuple(beat.queues), "held": tuple(beat.held)}
    return WorkerBeat(
        **{**written, **named},
        lanes=tuple(queue for queue in beat.queues if queue in lanes),
        running=tuple(RunningTask(task_id, name, here(since)) for task_id, name, since in beat.tasks),
        last_claim_at=here(beat.last_claim_ms),
        started_at=here(beat.started_ms),
        seen_at=moment(beat.seen_ms) + ahead,
        purged_at=here(beat.purged_ms),
    )


def _text(raw: bytes | str) -> str:
    return raw if isinstance(raw, str) else raw.decode()
