"""Redis' memory is full: what consumers do goes on, since it frees memory; what is published is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from delayhub.engine import DelayQueue, Entry, Gate, Lease, TimerLane
from delayhub.engine.limits import SET, SET_AT_ONCE, Limit, set_limits
from delayhub.engine.task_name import KEY_MARK
from delayhub.engine.unique import UniqueKey, offer, start
from tests.fixture_types import Now

#: What a consumer does with a message that it holds; the first lease of each has been lost.
VERBS: dict[str, Callable[[DelayQueue, Lease, Lease], object]] = {
    "acknowledge": lambda queue, lease, _: queue.acknowledge([lease]),
    "acknowledge late": lambda queue, _, late: queue.acknowledge([late]),
    "acknowledge early": lambda queue, lease, _: start(queue, [lease]),
    "extend": lambda queue, lease, _: queue.extend([lease]),
    "release": lambda queue, lease, _: queue.release([lease], delay_ms=1000, delivered=True),
    "bury": lambda queue, lease, _: queue.bury([lease], reason="no"),
    "strike": lambda queue, lease, _: queue.strike([lease], why="lost"),
    "reap": lambda queue, _, __: queue.reap(),
    "claim": lambda queue, lease, _: queue.claim(10, acknowledged=[lease]),
    "limit": lambda queue, _, __: set_limits(queue, SET, {"shop.mail": Limit(5)}),
    "limit of each key": lambda queue, _, __: set_limits(queue, SET, {"shop.mail" + KEY_MARK: Limit(5)}),
}


@pytest.fixture
def full(redis_client: redis.Redis) -> Iterator[Callable[[], None]]:
    """Fills the memory of Redis."""

    def fill() -> None:
        redis_client.config_set("maxmemory", "1")  # byte
        with pytest.raises(redis.ResponseError, match="when used memory > 'maxmemory'"):
            redis_client.set("more", "x")

    yield fill
    redis_client.config_set("maxmemory", "0")


@pytest.mark.parametrize("verb", VERBS)
def test_consumers_go_on_and_publishers_are_refused(queue: DelayQueue, full: Callable[[], None], verb: str) -> None:
    set_limits(queue, SET_AT_ONCE, {"shop.mail": Limit(2)})
    for name in "ab":
        offer(
            queue,
            Entry(name, payload=b'{"headers":{"task":"shop.mail"},"b":"%s"}' % name.encode()),
            UniqueKey(key=name),
        )
    late = [queue.lease(entry.id, entry.token) for entry in queue.claim(2, lease_ms=0).entries]
    queue.reap()
    held = [queue.lease(entry.id, entry.token) for entry in queue.claim(2).entries]

    full()
    VERBS[verb](queue, held[0], late[0])

    with pytest.raises(redis.ResponseError, match="when used memory > 'maxmemory'"):
        queue.schedule([Entry("c", payload=b"?")])
    with pytest.raises(redis.ResponseError, match="when used memory > 'maxmemory'"):
        offer(queue, Entry("d", payload=b"?"), UniqueKey(key="d"))


def test_timers_are_claimed_and_the_loader_keeps_its_seat(
    lane: TimerLane, full: Callable[[], None], now_ms: Now
) -> None:
    lane.ensure("close", [("1", now_ms()), ("2", now_ms())])

    full()
    lane.set_gate("close", Gate(max_in_flight=1, rate_per_second=1000))
    (batch,) = lane.claim().batches
    lane.acknowledge([Lease(lane.name, "close", name, batch.token) for name in batch.ids])
    lane.settle("close", batch.ids)
    lane.pause_keys("close", {"k": now_ms()})

    assert lane.hold("me", lease_ms=5000)
    assert lane.count() == 1
