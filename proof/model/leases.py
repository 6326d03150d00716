"""Plays traces of ``lease.pml`` on the scripts of a queue."""

from __future__ import annotations

from typing import cast

import redis

from delayhub.engine import DelayQueue, EngineOptions, Entry, Place
from delayhub.engine.limits import SET_AT_ONCE, Limit, set_limits
from proof.broken import Broken
from proof.model.traces import Event
from proof.snapshot import Snapshot, go_back, snapshot
from proof.virtual_time import VirtualTime

LEASE_MS = 10_000
NAME = "m1"


class LeasePlayer:
    """One message, three consumers, and a Redis that goes back; scripts read the run's clock.

    Args:
        client: of an empty server.
    """

    def __init__(self, client: redis.Redis) -> None:
        client.flushall()
        self._client = client
        self._time = VirtualTime(client)
        self._queue = DelayQueue(client, "q", options=EngineOptions(lease_seconds=LEASE_MS / 1000))
        set_limits(self._queue, SET_AT_ONCE, {"shop.once": Limit(2)})
        self._tokens: list[int] = []
        self._mine: dict[int, int] = {}
        self._saved: Snapshot = {}
        self._published = 0

    def play(self, event: Event) -> tuple[str, ...]:
        """The answer, where the message is, and whether it counts in flight and is marked as done."""
        answer = getattr(self, f"_{event.what}")(event.who)
        self._time.move(1)
        return (str(answer), *self._state())

    def _claims(self, who: int) -> int:
        entries = self._queue.claim(1).entries
        if not entries:
            return 0
        token = entries[0].token
        if self._tokens and token <= self._tokens[-1]:
            raise Broken(f"a token that is not greater than those before it: {token}")
        self._tokens.append(token)
        self._mine[who] = token
        return len(self._tokens)

    def _ends_it(self, who: int) -> int:
        return self._queue.acknowledge([self._queue.lease(NAME, self._mine[who])])

    def _publishes(self, counts: int) -> int:
        self._published += 1
        token = f'"n":{self._published}'
        task = "shop.once" if counts else "shop.free"
        payload = f'{{"headers":{{"task":"{task}"}},{token}}}'.encode()
        (outcome,) = self._queue.schedule([Entry(NAME, 0, payload, publish_token=token)])
        return int(outcome.outcome == "added")

    def _time_passes(self, _: int) -> int:
        self._time.move(LEASE_MS)
        return 1

    def _saves(self, _: int) -> int:
        self._saved = snapshot(self._client)
        return 1

    def _goes_back(self, _: int) -> int:
        go_back(self._client, self._saved)
        self._time.write()
        return 1

    def _state(self) -> tuple[str, str, str]:
        places = self._queue.look(NAME)
        flying = cast("bytes | None", self._client.hget(self._queue.keys.flying, NAME))
        place = 0 if not places else 2 if Place.LEASED in places else 1
        return str(place), str(int(flying is not None)), str(int(b"\r" in (flying or b"")))
