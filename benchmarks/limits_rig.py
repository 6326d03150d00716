"""What the shop with limits wrote down, and what Redis let start: for chaos runs of limits and of outages."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import redis

from benchmarks.figures import late
from benchmarks.processes import words_of
from delayhub.celery_support.backlog import backlogs
from delayhub.engine import DelayQueue, LaneKeys

APP = "benchmarks.limits_shop"
#: Seconds that a report takes at least, as the shop has it: so long a run counts that was killed.
REPORT_LASTS = 0.3


class Notes:
    """What the shop wrote down in the folder of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def starts(self, name: str) -> list[tuple[int, float]]:
        """The number and the time of each line of a file."""
        return [(int(number), float(at)) for number, at in words_of(self.folder / name)]

    def times(self, name: str) -> list[float]:
        """These times, in order."""
        return sorted(at for _, at in self.starts(name))

    def numbers(self, name: str) -> set[int]:
        """These numbers, each once."""
        return {number for number, _ in self.starts(name)}

    def lateness(self, name: str, published: Mapping[int, float]) -> dict[str, float]:
        """How many ms after its publish each task started that a file tells of, the first time."""
        first: dict[int, float] = {}
        for number, at in self.starts(name):
            first[number] = min(at, first.get(number, at))
        return late([1000 * (at - published[number]) for number, at in first.items()])

    def most_at_once(self, name: str, *, lasts_at_most: float) -> int:
        """How many of a task with a limit ran at once; a run that was killed counts for its usual time.

        An end that comes later than a lease lasts is that of another run.
        """
        ends: dict[int, list[float]] = {}
        for number, at in self.starts(f"{name}ed"):
            ends.setdefault(number, []).append(at)
        changes: list[tuple[float, int]] = []
        for number, at in self.starts(name):
            ended = [end for end in ends.get(number, []) if at < end < at + lasts_at_most]
            changes += [(at, 1), (min(ended, default=at + REPORT_LASTS), -1)]
        running = most = 0
        for _, by in sorted(changes):
            running += by
            most = max(most, running)
        return most


def most_in_a_second(times: Sequence[float]) -> int:
    """The most of these moments, which are in order, in any second."""
    return max((bisect_left(times, at + 1.0) - number for number, at in enumerate(times)), default=0)


def put_right(client: redis.Redis, queues: Iterable[DelayQueue]) -> int:
    """What claims found wrong in queues, and put right."""
    return sum(backlogs(client, [queue])[queue.name].healed for queue in queues)


class Permits:
    """Notes when a server lets a task with a rate limit start, by its own clock, which no busy machine stretches.

    It listens to what the server does as long as the ``with`` block lasts.

    Args:
        client: of the server, without a timeout of its own.
        queue: the task's queue.
        task: its name, which has no character that Redis would quote.
    """

    def __init__(self, client: redis.Redis, *, queue: str, task: str) -> None:
        self.times: list[float] = []
        self._begin = f"HSET {LaneKeys(queue, '').queue(queue).limited} {task} "
        self._client = client
        self._monitor: Any = client.monitor()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._is_over = False

    def __enter__(self) -> Self:
        self._monitor.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._client.ping()  # so that there is something to hear
        self._thread.join(10)
        self._monitor.__exit__(None, None, None)

    def _listen(self) -> None:
        last = 0
        while not self._is_over:
            heard = self._monitor.next_command()
            if heard["command"].startswith(self._begin):
                # "<µs between two> : <µs of the next one>"; a worker that declares the limit writes it as it was.
                following = int(heard["command"].rpartition(" ")[2].split(":")[1])
                if following > last:
                    last = following
                    self.times.append(heard["time"])
