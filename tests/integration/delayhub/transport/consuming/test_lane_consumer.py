"""Tasks with limits on a cluster: their messages go to free processes only, whatever other queues and slots claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue

from delayhub.engine.claim import Limits
from delayhub.engine.limits import DECLARED, Limit, set_limits
from delayhub.transport.hooks import HOOKS_OPTION, Hooks, name_hooks
from tests.cluster import LocalCluster
from tests.consuming import drain
from tests.integration.delayhub.transport.publishing import publish

LIMITED, OTHER = Queue("limited", routing_key="limited"), Queue("other", routing_key="other")
#: Of a task whose messages may start one by one only, and long after each other.
SELDOM = Limit(10**13)


class Processes:
    """The processes of a program, of which so many are free."""

    def __init__(self) -> None:
        self.free = 0
        self.got: list[str] = []

    def start(self, message: Any) -> None:
        """A message takes a process."""
        self.free -= 1
        self.got.append(message.headers["task"])


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
def connection(cluster: LocalCluster, processes: Processes) -> Iterator[Any]:
    """A connection of a program that knows which of its processes are free, to a cluster with two queues."""
    own = Hooks(free_processes=lambda: processes.free)
    with Connection(cluster.url, transport_options={HOOKS_OPTION: name_hooks("shop", own)}) as connection:
        for queue in (LIMITED, OTHER):
            queue(connection.default_channel).declare()
        yield connection


def limit(connection: Any, queue: str, limit: Limit) -> None:
    """Gives the task ``shop.mail`` a limit on a queue."""
    set_limits(connection.default_channel.queue(queue), DECLARED, {"shop.mail": limit})


def leased(channel: Any) -> int:
    """How many messages are claimed."""
    return sum(channel.count(queue.name).leased for queue in (LIMITED, OTHER))


def has_held(channel: Any, *queues: str) -> bool:
    """Whether these queues' consumers know of a message that waits for a free process, and ask for nothing now."""
    lanes = channel.consumer.lanes if channel.consumer else {}
    return all(one in lanes and lanes[one].limits is Limits.HELD and not lanes[one].claims.sent for one in queues)


def test_a_limited_message_goes_to_the_free_process_before_what_was_fetched_from_another_queue(
    connection: Any, processes: Processes
) -> None:
    limit(connection, "limited", SELDOM)
    publish(connection, [], queue="limited", task="shop.mail")
    publish(connection, [], queue="other", task="shop.add")
    channel = connection.channel()
    with Consumer(channel, [LIMITED, OTHER], on_message=processes.start):
        drain(connection, until=lambda: leased(channel) == 1 and has_held(channel, "limited"), within_seconds=9)
        assert processes.got == []

        processes.free = 1
        channel.note_free_process()
        drain(connection, until=lambda: bool(processes.got))
        assert processes.got == ["shop.mail"]

        processes.free = 1
        channel.note_free_process()
        drain(connection, until=lambda: len(processes.got) == 2)


def test_two_queues_do_not_ask_for_one_free_process_at_once(connection: Any, processes: Processes) -> None:
    for queue in (LIMITED, OTHER):
        limit(connection, queue.name, SELDOM)
        publish(connection, [], queue=queue.name, task="shop.mail")
    channel = connection.channel()
    with Consumer(channel, [LIMITED, OTHER], on_message=processes.start):
        drain(connection, until=lambda: has_held(channel, "limited", "other"), within_seconds=9)

        processes.free = 1
        channel.consumer.turn()
        assert sum(lane.asked_free for lane in channel.consumer.lanes.values() if lane.claims.sent) == 1
        drain(connection, until=lambda: bool(processes.got))

        assert leased(channel) == 1
        processes.free = 1
        channel.note_free_process()
        drain(connection, until=lambda: processes.got == ["shop.mail"] * 2)


def test_limits_of_a_queue_that_is_cancelled_amid_a_claim_hold_no_other_queue_back(
    connection: Any, processes: Processes
) -> None:
    limit(connection, "limited", SELDOM)
    processes.free = 1
    channel = connection.channel()
    publish(connection, [], queue="limited", task="shop.mail")
    with Consumer(channel, [LIMITED, OTHER], on_message=processes.start) as consumer:
        drain(connection, until=lambda: len(processes.got) == 1)
        assert channel.consumer.buffer.limiting
        lane = channel.consumer.lanes["limited"]
        drain(connection, until=lambda: not lane.claims.sent)
        lane.wanted = True
        lane.turn()

        consumer.cancel_by_queue("limited")
        assert lane.claims.sent
        channel.consumer.take_turn()

        assert "limited" not in channel.consumer.lanes
        assert not channel.consumer.buffer.limiting
