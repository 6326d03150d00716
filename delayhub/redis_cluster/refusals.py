"""What a node of a cluster answers instead of executing a command, and how long one goes on trying."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    BusyLoadingError,
    ClusterDownError,
    MovedError,
    ReadOnlyError,
    TryAgainError,
)
from redis.retry import Retry

T = TypeVar("T")

#: Seconds between two tries: the first, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0

#: Answers of a node that did not execute the command. AskError is MovedError's parent, and it is never followed: the
#: slot is being moved key by key, our scripts name no key that exists, and at the target they would find nothing.
REFUSALS = (AskError, TryAgainError, ClusterDownError, ReadOnlyError, BusyLoadingError)


class NotExecuted(redis.ConnectionError):
    """A node did not execute a command, since the slot is another node's, is being moved, or has no master now."""


class QueuesApart(redis.ResponseError):
    """A Redis Cluster moves no message to another queue, since no step holds both: publish it there and revoke it."""

    def __init__(self) -> None:
        super().__init__(str(self.__doc__))


def names_another_master(refusal: Exception) -> bool:
    """Whether the slot may have another master: not while it is only being moved (ASK, TRYAGAIN)."""
    return isinstance(refusal, MovedError) or not isinstance(refusal, AskError | TryAgainError)


def said(refusal: Exception) -> str:
    """A refusal as people read it."""
    match refusal:
        case MovedError():
            return f"slot {refusal.slot_id} is on {refusal.host}:{refusal.port}"
        case AskError():
            return f"slot {refusal.slot_id} is being moved to {refusal.host}:{refusal.port}"
    return str(refusal) or type(refusal).__name__


class Effort:
    """One command's tries, for so many seconds in all."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._pause = FIRST_PAUSE
        self._has_moved = False

    def first_move(self) -> bool:
        """Whether this is the first time that a node named another one: that is asked without a pause."""
        before, self._has_moved = self._has_moved, True
        return not before

    def pause(self) -> bool:
        """Waits before the next try, 50 ms at first and up to a second; False, at once, where the time is over."""
        left = self._until - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(self._pause, left))
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return True


class PatientRetry(Retry):
    """redis-py's rule for trying again, for connections of a key: until so many seconds are over.

    redis-py asks it for the command and, within that, for the connecting; only the outer one tries again.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(NoBackoff(), 0)
        self.seconds = seconds
        self._tries = False

    __hash__ = Retry.__hash__

    def call_with_retry(
        self, do: Callable[[], T], fail: Callable[..., Any], *given: Any, with_failure_count: bool = False, **named: Any
    ) -> T:
        """What ``do`` gives back.

        Raises:
            redis.ConnectionError: it went on failing.
        """
        del given, named
        if self._tries or not self.seconds:
            return do()
        self._tries = True
        try:
            effort, failures = Effort(self.seconds), 0
            while True:
                try:
                    return do()
                except (redis.ConnectionError, redis.TimeoutError, TimeoutError) as error:
                    failures += 1
                    if with_failure_count:
                        fail(error, failures)
                    else:
                        fail(error)
                    if not effort.pause():
                        raise
        finally:
            self._tries = False
