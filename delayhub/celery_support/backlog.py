"""A queue's backlog, as autoscalers and alerts want it: what is due and not taken, and for how long already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import redis

from delayhub.engine import Counts, DelayQueue, TimerLane
from delayhub.engine.keys import MAX_STEPS
from delayhub.transport.channel import Channel


class Backlog(NamedTuple):
    """What there is to do on one queue.

    Unlike the engine's counts, what is due counts as due although no worker was there to move it on.

    Args:
        waiting: tasks that are not due yet.
        due: tasks that are due and that no worker has; more workers would take them.
        leased: tasks that workers have.
        dead: tasks that gave up.
        late_seconds: how long the first of the due tasks has been due; 0 where none is.
        parked: tasks that are due and that the limit of their task holds back; more workers would not help.
        healed: places, unique keys and slots, since the queue exists, that something left behind and claims put right:
            0 but for queues that expire (``x-expires``), and slots of killed workers.
    """

    waiting: int
    due: int
    leased: int
    dead: int
    late_seconds: float
    parked: int = 0
    healed: int = 0


def backlogs(client: redis.Redis, queues: Sequence[DelayQueue]) -> dict[str, Backlog]:
    """The backlog of each queue, by its name; that of a timer lane counts timers. Two round trips, more for lanes."""
    now_us = _now_us(client)
    last_due = _last_due(now_us)
    with client.pipeline(transaction=False) as pipeline:
        for lane, keys in ((part.lane_keys, part.keys) for queue in queues for part in queue.parts):
            pipeline.zcount(keys.waiting, f"({last_due}", "+inf")
            pipeline.zcount(keys.waiting, "-inf", last_due)
            pipeline.zrange(keys.waiting, 0, 0, withscores=True)
            for step in range(MAX_STEPS):
                pipeline.zcard(keys.ready(step))
                pipeline.zrange(keys.ready(step), 0, 0, withscores=True)
            pipeline.zcard(keys.leased)
            pipeline.zcard(keys.dead)
            pipeline.get(keys.parked)
            pipeline.hvals(keys.healed)
            pipeline.hvals(lane.healed)
        replies = iter(pipeline.execute())
    found = {queue.name: _whole([_backlog(replies, now_us=now_us) for _ in queue.parts]) for queue in queues}
    # Only a timer lane has timers, and it has no messages.
    for queue in queues:
        if not any(found[queue.name]._replace(healed=0)):
            found[queue.name] = _of_lane(client, queue)._replace(healed=found[queue.name].healed)
    return found


def _whole(parts: Sequence[Backlog]) -> Backlog:
    """The backlog of a queue, of those of its slots."""
    if len(parts) == 1:
        return parts[0]
    waiting, due, leased, dead, late, parked, healed = zip(*parts, strict=True)
    return Backlog(sum(waiting), sum(due), sum(leased), sum(dead), max(late), sum(parked), sum(healed))


def _of_lane(client: redis.Redis, queue: DelayQueue) -> Backlog:
    lane = TimerLane(client, queue.name, options=queue.options)
    found = lane.outlook(lane.queues())
    waiting, due, leased = (sum(each[part] or 0 for each in found) for part in range(3))
    if not due:
        return Backlog(waiting, 0, leased, 0, 0.0)
    since_us = [each.first_ms * 1000 for each in found if each.first_ms is not None]
    now_us = _now_us(client)
    late_us = max(0, now_us - min(since_us, default=now_us))
    return Backlog(waiting, due, leased, 0, late_us / 1_000_000)


def _now_us(client: redis.Redis) -> int:
    seconds, micros = client.time()
    return int(seconds) * 1_000_000 + int(micros)


def _last_due(now_us: int) -> int:
    """The highest score of what waits and is due: scores are the due time in ms, times 16, plus the priority step."""
    return now_us // 1000 * 16 + 15


def _backlog(replies: Any, *, now_us: int) -> Backlog:
    waiting, due, first = next(replies), next(replies), next(replies)
    since_us = [int(score) // 16 * 1000 for _, score in first]
    for _ in range(MAX_STEPS):
        due += next(replies)
        since_us += [int(score) for _, score in next(replies)]
    late_us = now_us - min(since_us, default=now_us)
    leased, dead, parked = next(replies), next(replies), int(next(replies) or 0)
    healed = sum(map(int, [*next(replies), *next(replies)]))
    return Backlog(waiting, due, leased, dead, max(0, late_us) / 1_000_000, parked, healed)


#: The metrics of a queue for Prometheus: name, help, and which part of a backlog it is.
METRICS = (
    ("delayhub_queue_waiting", "Tasks that are not due yet.", "waiting"),
    ("delayhub_queue_due", "Tasks that are due and that no worker has.", "due"),
    ("delayhub_queue_leased", "Tasks that workers have.", "leased"),
    ("delayhub_queue_parked", "Tasks that are due and that the limit of their task holds back.", "parked"),
    ("delayhub_queue_dead", "Tasks that gave up.", "dead"),
    ("delayhub_queue_late_seconds", "How long the first of the due tasks has been due.", "late_seconds"),
    ("delayhub_queue_healed_total", "Places, unique keys and slots that were left behind, and put right.", "healed"),
)


def as_prometheus(found: Mapping[str, Backlog]) -> str:
    """The backlogs in Prometheus' text format."""
    lines = []
    for name, about, part in METRICS:
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        for queue, backlog in found.items():
            label = queue.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            lines.append(f'{name}{{queue="{label}"}} {getattr(backlog, part)}')
    return "\n".join(lines) + "\n"


def count_queue(channel: Channel, name: str) -> Counts:
    """How many messages of the queue are where; of a timer lane, how many timers: those that are due are ready."""
    counts = channel.count(name)
    if any(counts):
        return counts
    # Only a timer lane has timers, whether or not it was declared on this connection.
    return TimerLane(channel.publisher, name, options=channel.options.engine()).counts()
