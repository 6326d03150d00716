"""When Redis let tasks with a rate limit start, by its own clock, which no busy machine stretches."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Self

import redis

from delayhub.engine import LaneKeys


class Permits:
    """Listens to what a server does, and notes each permit of a task as long as the ``with`` block lasts.

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


def most_in_a_second(times: Sequence[float]) -> int:
    """The most of these moments, which are in order, in any second."""
    return max((bisect_left(times, at + 1.0) - number for number, at in enumerate(times)), default=0)
