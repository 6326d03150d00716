"""A clock that a simulated run moves by itself: the scripts read it where they would read Redis' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import redis

from delayhub.engine import scripts
from proof.quick_redis import QuickRedis

#: HASH in the server of the run: ``s``, Unix time in seconds, and ``us``, the µs of that second, as TIME gives them.
CLOCK = "@clock"
#: When each history begins: far enough from zero for scores as they are in use.
BEGIN_MS = 1_800_000_000_000

_TIME = "redis.call('TIME')"
_READ = f"redis.call('HMGET','{CLOCK}','s','us')"


class VirtualTime:
    """The time of one run, in ms; only the run moves it."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self.now_ms = BEGIN_MS
        self.write()

    @property
    def since_begin_ms(self) -> int:
        """How long the run has gone on by its own clock."""
        return self.now_ms - BEGIN_MS

    def move(self, ms: int) -> None:
        """Lets time pass."""
        self.now_ms += ms
        self.write()

    def write(self) -> None:
        """Writes the time to the server; also after the server's data went back, since time does not."""
        command = "HSET", CLOCK, "s", self.now_ms // 1000, "us", self.now_ms % 1000 * 1000
        if isinstance(self._client, QuickRedis):  # who moves the clock has no other connection
            self._client.send_along(*command)
        else:
            self._client.execute_command(*command)


@contextmanager
def virtual_time(change: Callable[[str], str] = str) -> Iterator[None]:
    """Inside, all scripts read the run's clock, and ``change`` may make mutants of their sources.

    A source is changed as it is written, before names of keys are put in.
    """
    real = scripts.with_literals

    def with_virtual_time(source: str) -> str:
        return by_the_runs_clock(real(change(source)))

    scripts.with_literals = with_virtual_time
    scripts.script.cache_clear()
    try:
        yield
    finally:
        scripts.with_literals = real
        scripts.script.cache_clear()


def by_the_runs_clock(source: str) -> str:
    """A script that reads the run's clock."""
    return source.replace(_TIME, _READ)


@cache
def sources() -> tuple[str, ...]:
    """What a mutant is asked to change: the source of each script, as it is written."""
    asked: list[str] = []

    def hear(source: str) -> str:
        asked.append(source)
        return source

    with virtual_time(hear):
        for name in scripts.names():
            scripts.script(name)
    return tuple(asked)
