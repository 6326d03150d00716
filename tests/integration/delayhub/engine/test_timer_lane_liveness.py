"""Random verbs on a queue with every limit: whatever its limits let pass, the agenda calls a claim for, and it passes.

Time is simulated: the scripts read a clock that the test moves. Each number makes one history. The environment says how
many are tried and with which number they begin: ``DELAYHUB_LIVENESS_RUNS``, ``DELAYHUB_LIVENESS_FIRST``.
``make simulate`` tries many.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, cast

import pytest
import redis

from delayhub.engine import Gate, Lease, TimerLane
from proof.shortest import shortest
from proof.virtual_time import VirtualTime, virtual_time
from tests.property_sizes import examples

RUNS = int(os.environ.get("DELAYHUB_LIVENESS_RUNS", examples(50)))
FIRST = int(os.environ.get("DELAYHUB_LIVENESS_FIRST", "0"))
LANE, QUEUE = "timers", "q"
#: A claim may come so much later than a timer could pass: the interval of its rate, that of its key, and what gathers
#: permits.
SLACK_MS = 20 + 20 + 2 * 10
#: Claims one after another that give nothing: each may have looked at one flow key only.
MOST_EMPTY = 20

GATES = (
    Gate(),
    Gate(max_in_flight=1),
    Gate(max_in_flight=3, key_max_in_flight=2),
    Gate(max_in_flight=4, key_max_in_flight=1, rate_per_second=50, burst=2),
    Gate(key_max_in_flight=1),
    Gate(key_rate_per_second=50, key_burst=2),
    Gate(max_in_flight=5, rate_per_second=50, burst=50, key_rate_per_second=50, key_max_in_flight=3),
)
#: Verbs, and how often each comes in a history, beside the others.
VERBS = {
    "create": 30, "time_passes": 15, "claim": 14, "take_up": 14, "end": 12, "reschedule": 6, "cancel": 5, "pause": 5,
    "limit": 2, "flush": 1,
}  # fmt: skip

#: A verb and the values that it chooses by.
Step = tuple[str, dict[str, Any]]


def test_whatever_limits_let_pass_is_claimed_in_time(redis_client: redis.Redis) -> None:
    with virtual_time():
        for number in range(FIRST, FIRST + RUNS):
            history: Sequence[Step] = made_up(Random(number))
            if failure(history, redis_client):
                history = shortest(history, lambda steps: failure(steps, redis_client) is not None)
                steps = "\n".join(f"{verb} {values}" for verb, values in history)
                pytest.fail(f"history {number}, in short:\n{steps}\n{failure(history, redis_client)}")


def made_up(random: Random) -> list[Step]:
    """A history; some of its verbs are rarer or more common than in others."""
    weights = [often * random.choice([1, 1, 0.1, 3]) for often in VERBS.values()]
    verbs = random.choices(list(VERBS), weights, k=random.choice([10, 20, 40]))
    return [(verb, _values(random)) for verb in ["limit", *verbs]]


def _values(random: Random) -> dict[str, Any]:
    return {
        "name": f"id{random.randrange(8)}",
        "key": random.choice(["", "a", "b", "c"]),
        "step": random.choice([5, 5, 0, 9]),
        "wait": random.choice([-5_000, 0, 300, 4_000]),
        "passes": random.choice([1, 20, 400, 5_000, 31_000]),
        "limit": random.choice([1, 2, 100]),
        "gate": random.choice(GATES),
        "choice": random.random(),
    }


def failure(history: Sequence[Step], client: redis.Redis) -> AssertionError | None:
    """What is wrong after some step of the history, or with its end."""
    scene = Scene(client)
    try:
        for verb, values in history:
            getattr(scene, verb)(**values)
            scene.check()
        scene.empty_the_queue()
    except AssertionError as error:
        return error
    return None


@dataclass
class Live:
    """A job that is not done: its flow key, its priority step, and whether it runs; then Redis has no timer."""

    key: str
    due: int
    step: int
    runs: bool = False


class Scene:
    """What clients and workers do with a queue, and what must be so after each step."""

    def __init__(self, client: redis.Redis) -> None:
        client.flushall()
        self.client = client
        self.lane = TimerLane(client, LANE)
        self.keys = self.lane.keys.queue(QUEUE)
        self.time = VirtualTime(client)
        self.jobs: dict[str, Live] = {}
        self.held: list[Lease] = []
        #: Jobs whose slots were not freed, since their workers died; and until when keys are paused.
        self.lost: set[str] = set()
        self.paused: dict[str, int] = {}
        self.gate = Gate()
        #: When the next claim asks for the gate again, where the last one was not heard.
        self.asks_again = 0

    @property
    def now(self) -> int:
        """The time of the history."""
        return self.time.now_ms

    # ------------------------------------------------------------ verbs

    def create(self, *, name: str, key: str, step: int, wait: int, **_: Any) -> None:
        if name not in self.jobs:
            self.jobs[name] = Live(key, self.now + wait, step)
            self.lane.ensure(QUEUE, [(name, self.now + wait)], key=key, step=step)

    def time_passes(self, *, passes: int, **_: Any) -> None:
        self.time.move(passes)

    def claim(self, *, limit: int, choice: float, **_: Any) -> None:
        """A third of the replies is lost, and with them what is known of the leases, which run out."""
        is_heard = choice < 2 / 3
        claimed = self.claimed(limit, is_heard=is_heard)
        self.held += claimed if is_heard else []

    def take_up(self, *, choice: float, step: int, **_: Any) -> None:
        """A worker acknowledges a timer and runs its job, or gives it back; its lease may have run out."""
        if not self.held:
            return
        lease = self.held.pop(int(choice * len(self.held)))
        if step == 5:
            self.run([lease])
        else:
            self.lane.release([lease], delay_ms=700 if step else 0)

    def end(self, *, choice: float, step: int, **_: Any) -> None:
        """A job ends, or is to run again, or its worker dies with it: then its slot is not freed."""
        running = [name for name, job in self.jobs.items() if job.runs]
        if not running:
            return
        name = running[int(choice * len(running))]
        job = self.jobs[name]
        if step == 0:
            self.lost.add(name)
        else:
            self.lane.settle(QUEUE, [name])
            self.lost.discard(name)
        if step == 5:
            del self.jobs[name]
            return
        job.runs, job.due = False, self.now + 2_000
        self.lane.put(QUEUE, [(name, job.due)], key=job.key, step=job.step)

    def reschedule(self, *, name: str, key: str, step: int, wait: int, **_: Any) -> None:
        job = self.jobs.get(name)
        if job and not job.runs:
            former, job.key, job.step, job.due = job.key, key, step, self.now + wait
            self.lane.put(QUEUE, [(name, job.due)], key=key, step=step, former_key=former)

    def cancel(self, *, name: str, **_: Any) -> None:
        job = self.jobs.get(name)
        if job and not job.runs:
            assert self.lane.cancel(QUEUE, [name], key=job.key) == [True]
            del self.jobs[name]

    def pause(self, *, key: str, wait: int, **_: Any) -> None:
        if key:
            self.paused.pop(key, None)
            if wait > 0:
                self.paused[key] = self.now + wait
            self.lane.pause_keys(QUEUE, {key: self.paused.get(key)})

    def limit(self, *, gate: Gate, wait: int, **_: Any) -> None:
        self.gate = replace(gate, shut_until_ms=self.now + wait if wait == 4_000 else 0)
        self.set_gate()

    def flush(self, *, choice: float, **_: Any) -> None:
        """Redis forgets everything, and the loader brings it again; the gate may be left to a worker that claims."""
        self.client.flushall()
        self.time.write()
        self.lost.clear()
        self.held.clear()
        self.asks_again = 0
        if choice < 1 / 2:
            self.set_gate()
        self.lane.pause_keys(QUEUE, dict(self.paused))
        again: dict[int, dict[str, list[tuple[str, int]]]] = defaultdict(lambda: defaultdict(list))
        for name, job in self.jobs.items():
            if not job.runs:
                again[job.step][job.key].append((name, job.due))
        for step, timers in again.items():
            self.lane.ensure_keys(QUEUE, timers, step=step)

    # ------------------------------------------------------------ what must be so

    def check(self) -> None:
        self.check_agenda()
        leased = {name.decode() for name in self.client.zrange(self.keys.leased, 0, -1)}
        running = {name for name, job in self.jobs.items() if job.runs}
        keyed = sum(job.key != "" and not job.runs for job in self.jobs.values())
        counted = int(self.client.hget(self.keys.gate, "keyed") or 0)
        held = {key: int(count) for key, count in self.client.hgetall(self.keys.held).items()}

        assert self.slots().keys() <= leased | running | self.lost, "a slot is that of no job in flight"
        assert keyed - len(leased) <= counted <= keyed, "timers of flow keys are counted wrongly"
        assert held == Counter(self.client.hvals(self.keys.slot_keys)), "slots of flow keys are counted wrongly"

    def check_agenda(self) -> None:
        """The agenda calls a claim as soon as a timer may pass."""
        earliest = min(self.passable().values(), default=None)
        if earliest is not None:
            at = self.client.zscore(self.lane.keys.agenda, QUEUE)
            assert at is not None, "the queue is not on the agenda"
            assert at <= max(earliest, self.now) + SLACK_MS, f"a claim comes at {at}, a timer may pass at {earliest}"

    def empty_the_queue(self) -> None:
        """Workers that come when the agenda says empty the queue, and they do not come in vain."""
        self.run(self.held)
        for name in [name for name, job in self.jobs.items() if job.runs]:
            self.lane.settle(QUEUE, [name])
            del self.jobs[name]
        empty = 0
        while self.jobs:
            claimed = self.claimed(100)
            self.lane.acknowledge(claimed)
            for lease in claimed:
                self.lane.settle(QUEUE, [lease.id])
                del self.jobs[lease.id]
            empty = 0 if claimed else empty + 1
            assert empty < MOST_EMPTY, "claims are called for nothing"
            self.check_agenda()
            at = cast("float", self.client.zscore(self.lane.keys.agenda, QUEUE) or self.now)
            self.time.move(max(0, int(at) - self.now))

    # ------------------------------------------------------------ what there is

    def claimed(self, limit: int, *, is_heard: bool = True) -> list[Lease]:
        """What a claim gives: without a gate nothing, and the worker writes the gate as soon as it hears."""
        claim = self.lane.claim(limit, needs_gates=True)
        if claim.ungated:
            assert claim.batches == [], "a queue without a gate gives timers"
            if is_heard:
                self.set_gate()
            else:
                self.asks_again = self.now + 1_000
        return [Lease(LANE, QUEUE, name, batch.token) for batch in claim.batches for name in batch.ids]

    def set_gate(self) -> None:
        assert self.lane.set_gate(QUEUE, self.gate)
        self.asks_again = 0

    def run(self, leases: list[Lease]) -> None:
        for lease in leases:
            if self.lane.acknowledge([lease]):
                self.jobs[lease.id].runs = True

    def slots(self) -> dict[str, int]:
        """Who holds a slot, and until when."""
        found = self.client.zrange(self.keys.in_flight, 0, -1, withscores=True)
        return {name.decode(): int(until) for name, until in found if until > self.now}

    def passable(self) -> dict[str, int]:
        """When each timer may pass, as far as slots and pauses let it; or when its lease runs out."""
        leases = dict(self.client.zrange(self.keys.leased, 0, -1, withscores=True))
        return dict(self._passable(leases))

    def _passable(self, leases: dict[bytes, float]) -> Iterator[tuple[str, int]]:
        slots = self.slots()
        opens = max(self.asks_again, self.gate.shut_until_ms, _room(list(slots.values()), self.gate.max_in_flight))
        ends: dict[str, list[int]] = {}
        for name, key in self.client.hgetall(self.keys.slot_keys).items():
            if name.decode() in slots and key:
                ends.setdefault(key.decode(), []).append(slots[name.decode()])
        for name, job in self.jobs.items():
            if name.encode() in leases:
                yield name, int(leases[name.encode()])
            elif not job.runs:
                (due,) = self.lane.look(QUEUE, [name], key=job.key)
                assert due is not None, f"the timer of {name} is lost"
                key_opens = max(_room(ends.get(job.key, []), self.gate.key_max_in_flight), self.paused.get(job.key, 0))
                yield name, max(due, opens, key_opens)


def _room(ends: list[int], most: int | None) -> int:
    """When there is a free slot, where these are in use."""
    return 0 if most is None or len(ends) < most else min(ends)
