"""Who has lost a lease ends its message all the same, while another holds it: what that one holds stays its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest
import redis

from delayhub.engine import DelayQueue, Entry, Lease
from delayhub.engine.limits import SET_AT_ONCE, Limit, set_limits
from delayhub.engine.unique import UniqueKey, WhenTaken, offer, start

TASK = "shop.mail"
#: What is kept of a queue that has no messages.
STAYS = (":limits", ":limited", ":@wake", ":@token", ":@alarm")

KINDS = ("a unique key", "a place of its task", "a place of its flow key", "key and place")


def lapse(queue: DelayQueue, lease: Lease) -> None:
    """Its holder freezes until its lease has run out."""
    queue.extend([lease], lease_ms=0)
    queue.reap()


#: How the last holder's lease may end; each leaves the message to the one that was told of its end.
ENDS: dict[str, Callable[[DelayQueue, Lease], object]] = {
    "acknowledged": lambda queue, lease: queue.acknowledge([lease]),
    "given back": lambda queue, lease: queue.release([lease], delivered=True),
    "put off": lambda queue, lease: queue.release([lease], delay_ms=60_000),
    "buried": lambda queue, lease: queue.bury([lease], reason="no"),
    "struck": lambda queue, lease: queue.strike([lease], why="its process was lost"),
    "run out": lapse,
    "run out after an early acknowledgement": lambda queue, lease: (start(queue, [lease]), lapse(queue, lease)),
}


def message(name: str) -> Entry:
    """A message of the task, for one customer."""
    headers = f'{{"headers":{{"task":"{TASK}","x-delayhub-key":"7"}},"body":"{name}"}}'
    return Entry(name, payload=headers.encode())


def publish(queue: DelayQueue, name: str, kind: str) -> None:
    """Stores a message that no other may run beside."""
    if "key" in kind.removesuffix("flow key"):
        offer(queue, message(name), UniqueKey(key="order-7", when_taken=WhenTaken.WAIT))
    else:
        queue.schedule([message(name)])


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, queue: DelayQueue) -> str:
    if "place" in request.param:
        of_key = "flow key" in request.param
        set_limits(queue, SET_AT_ONCE, {TASK + "\0" if of_key else TASK: Limit(1)})
    return str(request.param)


def claim(queue: DelayQueue) -> list[Lease]:
    """The leases of a claim."""
    return [queue.lease(entry.id, entry.token) for entry in queue.claim(10).entries]


def held_by_three(queue: DelayQueue, kind: str) -> list[Lease]:
    """The leases of three holders of one message, of which the first two have frozen; and another message waits."""
    publish(queue, "held", kind)
    publish(queue, "other", kind)
    leases = []
    for number in range(3):
        (lease,) = claim(queue)
        assert lease.id == "held"
        leases.append(lease)
        if number < 2:
            lapse(queue, lease)
    return leases


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_three_holders_that_all_end_late_run_it_no_more_and_nothing_beside_it(
    queue: DelayQueue, redis_client: redis.Redis, kind: str, order: tuple[int, ...]
) -> None:
    leases = held_by_three(queue, kind)

    for place, number in enumerate(order):
        queue.acknowledge([leases[number]])
        started = claim(queue)

        ended = 2 in order[: place + 1]
        assert [lease.id for lease in started] == (["other"] if ended else [])
        if ended:
            queue.acknowledge(started)
            break
    for number in order:
        queue.acknowledge([leases[number]])

    nothing_is_left(queue, redis_client)


@pytest.mark.parametrize("end", ENDS)
def test_a_message_that_was_ended_late_is_gone_with_the_lease_of_the_one_that_runs_it(
    queue: DelayQueue, redis_client: redis.Redis, kind: str, end: str
) -> None:
    _, late, running = held_by_three(queue, kind)

    queue.acknowledge([late])
    held = claim(queue)
    ENDS[end](queue, running)
    after = claim(queue)

    assert held == []
    assert [lease.id for lease in after] == ["other"]
    queue.acknowledge(after)
    assert sum(queue.count()) == 0
    nothing_is_left(queue, redis_client)


@pytest.mark.parametrize("end", ["given back", "put off", "buried", "struck", "run out"])
def test_who_has_lost_its_lease_neither_gives_back_nor_rejects_what_another_runs(
    queue: DelayQueue, kind: str, end: str
) -> None:
    late, _, running = held_by_three(queue, kind)

    if end == "run out":
        queue.extend([late], lease_ms=0)
        queue.reap()
    else:
        ENDS[end](queue, late)

    assert claim(queue) == []
    assert queue.extend([running]) == {"held"}
    assert queue.acknowledge([running]) == 1


def test_a_purge_leaves_a_message_that_was_ended_late_with_the_one_that_runs_it(
    queue: DelayQueue, redis_client: redis.Redis, kind: str
) -> None:
    late, _, running = held_by_three(queue, kind)
    queue.acknowledge([late])

    queue.purge()
    publish(queue, "new", kind)

    assert claim(queue) == []
    lapse(queue, running)
    new = claim(queue)
    assert [lease.id for lease in new] == ["new"]
    queue.acknowledge(new)
    nothing_is_left(queue, redis_client)


def nothing_is_left(queue: DelayQueue, client: redis.Redis) -> None:
    """Checks that nothing of any message is kept."""
    assert claim(queue) == []
    keys = {key.decode() for key in client.keys("*")}
    assert not {key for key in keys if not key.endswith(STAYS)}
