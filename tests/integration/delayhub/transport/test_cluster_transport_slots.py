"""Queues in several slots, through the transport: spread, consumed, grown, published once."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
import redis
from kombu import Connection, Consumer, Producer, Queue

from delayhub.engine import Counts, DelayQueue
from delayhub.engine.lane_tag import slot_lane, slot_of
from delayhub.engine.limits import SET, SET_AT_ONCE, Limit, set_limits
from delayhub.engine.occurrences import Occurrence, OccurrenceBook, PeriodicEntry
from delayhub.engine.queue_slots import QueueSlots, ask_slots, read_slots
from delayhub.engine.task_name import FLOW_KEY_HEADER, KEY_MARK
from delayhub.errors import NotReplicated, OccurrenceTaken, OptionError
from delayhub.transport.consuming import cluster_consumer
from delayhub.transport.occurrence import OCCURRENCE_HEADER, nominal_time, publishing
from tests.cluster import LocalCluster
from tests.consuming import drain, keep_payloads, take_all
from tests.integration.delayhub.transport.publishing import eta
from tests.redis_time import redis_now_ms

FAR_MS = 4_000_000_000_000


def slotted(number: int) -> Queue:
    return Queue("q", routing_key="q", queue_arguments={"x-delayhub-slots": number})


def all_have_claimed(channel: Any) -> bool:
    """Whether each lane's first claim has been answered."""
    lanes = list(channel.consumer.lanes.values()) if channel.consumer else []
    return len(lanes) == 64 and all(lane.claims.sent_at and not lane.claims.sent for lane in lanes)


def publish(channel: Any, numbers: range, *, queue: Queue | None = None) -> None:
    producer = Producer(channel)
    for number in numbers:
        producer.publish(
            [number], routing_key="q", declare=[queue] if queue else [], headers={"id": f"task-{number}", "task": "t"}
        )


@pytest.mark.parametrize("prefetch", [0, 3])
def test_a_queue_of_eight_slots_is_consumed_whole(cluster: LocalCluster, prefetch: int) -> None:
    got: list[Any] = []
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        publish(channel, range(80), queue=slotted(8))
        spread = [part.count().ready for part in channel.queue("q").parts]
        consuming = connection.channel()
        consuming.basic_qos(0, prefetch)

        with Consumer(consuming, [slotted(8)], on_message=keep_payloads(got)):
            drain(connection, until=lambda: len(got) >= 80 and not any(channel.count("q")))

    assert len(spread) == 8
    assert all(spread)
    assert Counter(number for (number,) in got) == dict.fromkeys(range(80), 1)


def test_one_prefetch_count_bounds_all_slots_together(cluster: LocalCluster) -> None:
    held: list[Any] = []
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        publish(channel, range(40), queue=slotted(8))
        channel.basic_qos(0, 2)

        with Consumer(channel, [slotted(8)], on_message=held.append):
            drain(connection, until=lambda: len(held) == 2)
            for _ in range(5):
                with pytest.raises(TimeoutError):
                    connection.drain_events(timeout=0.05)
            leased = channel.count("q").leased

    assert leased == 2


def test_a_message_by_message_reader_finds_every_slot(cluster: LocalCluster) -> None:
    with Connection(cluster.url) as connection:
        publish(connection.channel(), range(20), queue=slotted(4))

        assert len(take_all(connection, "q")) == 20
        assert connection.channel().count("q") == Counts(0, 0, 0, 0)


def test_a_consumer_takes_up_slots_that_are_made_while_it_runs(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_consumer, "FRESH_SECONDS", 0.0)
    queue, got = Queue("q", routing_key="q"), list[Any]()
    with Connection(cluster.url) as connection, Connection(cluster.url) as other:
        with Consumer(connection.channel(), [queue], on_message=keep_payloads(got)):
            publish(other.channel(), range(5), queue=queue)
            drain(connection, until=lambda: len(got) == 5)
            ask_slots(other.channel().publisher, "q", QueueSlots(), prefix="", number=4)
            late, fresh = other.channel(), Connection(cluster.url).channel()
            publish(fresh, range(5, 25))
            publish(late, range(25, 35))
            spread = [part.count().ready for part in fresh.queue("q").parts]
            drain(connection, until=lambda: len(got) >= 35)
        fresh.connection.client.release()

    assert sum(map(bool, spread)) == 4
    assert Counter(number for (number,) in got) == dict.fromkeys(range(35), 1)


def test_an_argument_only_proposes_and_a_timer_lane_has_no_slots(cluster: LocalCluster) -> None:
    with Connection(cluster.url) as connection:
        slotted(8)(connection.channel()).declare()
        slotted(2)(connection.channel()).declare()
        lane = Queue("lane", queue_arguments={"x-delayhub-task": "t", "x-delayhub-slots": 2})

        assert connection.channel().slots("q") == QueueSlots(8, 8)
        with pytest.raises(OptionError, match="lane is a timer lane, which has no slots"):
            lane(connection.channel()).declare()


@pytest.mark.parametrize("is_known", [False, True])
def test_an_argument_leaves_a_number_alone_that_was_set(cluster: LocalCluster, is_known: bool) -> None:
    with Connection(cluster.url) as connection, Connection(cluster.url) as other:
        channel = connection.channel()
        channel.slot_table.set("q", 2)
        declaring = channel if is_known else other.channel()

        slotted(64)(declaring).declare()

        assert declaring.slots("q") == QueueSlots(2, 2)
        assert read_slots(channel.publisher, ["q"], prefix="") == {"q": QueueSlots(2, 2)}


def test_a_second_try_goes_to_the_slots_of_the_first(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, properties = DelayQueue.schedule, dict[str, Any]()
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        slotted(2)(channel).declare()
        ids = [f"task-{number}" for number in range(9)]

        def loses_its_reply(queue: DelayQueue, entries: Any, **options: Any) -> Any:
            schedule(queue, entries, **options)
            raise ConnectionError

        for each in ids:
            message = channel.prepare_message("x", headers={"id": each, "task": "t"}, properties={})
            properties = message["properties"]
            with monkeypatch.context() as patched, pytest.raises(ConnectionError):
                patched.setattr(DelayQueue, "schedule", loses_its_reply)
                channel.basic_publish(message, "", "q")
            channel.slot_table.set("q", 64)
            channel.basic_publish(
                channel.prepare_message("x", headers=message["headers"], properties=properties), "", "q"
            )
            channel.slot_table.set("q", 2)

        assert channel.count("q").ready == 9
        assert not any(b"unanswered" in found.payload for found in channel.queue("q").list("ready", payloads=True))


@pytest.mark.parametrize(("layer", "limit"), [(SET, Limit(1_000)), (SET_AT_ONCE, Limit(2))])
def test_a_task_with_a_limit_is_in_one_slot(cluster: LocalCluster, layer: str, limit: Limit) -> None:
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        slotted(8)(channel).declare()
        set_limits(channel.queue("q"), layer, {"t": limit})

        publish(connection.channel(), range(20))

        assert sorted(part.count().ready for part in channel.queue("q").parts) == [0] * 7 + [20]


@pytest.mark.parametrize(
    ("headers", "slot"),
    [
        ({"task": "shop.mail"}, 0),  # no limit: with the state of its entry
        ({"task": "shop.close"}, slot_of("shop.close", 8)),
        ({"task": "shop.mail", FLOW_KEY_HEADER: "tenant-7"}, slot_of("tenant-7", 8)),
    ],
)
def test_a_periodic_message_is_in_the_slot_of_other_calls_with_its_limit_and_moves_its_entry_on_once(
    cluster: LocalCluster, headers: dict[str, str], slot: int
) -> None:
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        slotted(8)(channel).declare()
        limits = {"shop.close": Limit(1), "shop.mail" + KEY_MARK: Limit(1)}
        set_limits(channel.queue("q"), SET_AT_ONCE, limits)
        book, again = OccurrenceBook(channel.publisher, "q"), connection.channel()
        found = claimed_occurrence(book)
        sent = {**headers, OCCURRENCE_HEADER: nominal_time(found)}

        with publishing(found):
            Producer(again).publish([1], routing_key="q", headers={**sent, "id": "periodic"})
        with publishing(replace(found, token="1", is_over=False)), pytest.raises(OccurrenceTaken):
            Producer(again).publish([1], routing_key="q", headers={**sent, "id": "of-a-slow-beat"})
        if slot:
            Producer(again).publish([1], routing_key="q", headers={**headers, "id": "by-code"})

        parts = [[one.id for one in part.list("ready")] for part in channel.queue("q").parts]
        assert parts[slot] == ["periodic", "by-code"][: 1 + bool(slot)]
        assert sum(map(len, parts)) == 1 + bool(slot)
        assert [(one.next, one.count) for one in book.all().values()] == [(FAR_MS, 1)]


def test_a_periodic_message_is_stored_also_where_too_few_replicas_know_that_its_entry_has_moved(
    cluster: LocalCluster,
) -> None:
    options = {"wait_replicas": 1, "wait_seconds": 0.01}
    with Connection(cluster.url, transport_options=options) as connection:
        channel = connection.channel()
        slotted(8)(channel).declare()
        set_limits(channel.queue("q"), SET_AT_ONCE, {"shop.close": Limit(1)})
        found = claimed_occurrence(OccurrenceBook(channel.publisher, "q"))
        headers = {"task": "shop.close", "id": "periodic", OCCURRENCE_HEADER: nominal_time(found)}

        with publishing(found), pytest.raises(NotReplicated):
            Producer(connection.channel()).publish([1], routing_key="q", headers=headers)

        assert found.is_over
        assert [one.id for one in channel.queue("q").list("ready")] == ["periodic"]


def claimed_occurrence(book: OccurrenceBook) -> Occurrence:
    """An occurrence of an entry of the queue, which this process may publish."""
    book.plan("e", PeriodicEntry(print="p", grid="g", next=1000), instead_of=None)
    claim = book.claim("e", "p", due_ms=1000, beat="b")
    return Occurrence(lane="q", name="e", token=claim.token, due_ms=1000, nominal_ms=1000, next_ms=FAR_MS)


def test_a_slot_is_claimed_from_when_its_next_message_is_due_however_seldom_slots_are_asked(
    cluster: LocalCluster,
) -> None:
    with Connection(cluster.url) as connection:
        channel = connection.channel()
        slotted(64)(channel).declare()
        with Consumer(channel, [slotted(64)], on_message=lambda _: None):
            drain(connection, until=lambda: all_have_claimed(channel))
            Producer(connection.channel()).publish(
                [1], routing_key="q", headers={"id": "late", "task": "t", "eta": eta(30)}
            )
            lanes = channel.consumer.lanes
            lane = lanes[slot_lane("q", slot_of("late", 64))]
            asked = lane.claims.sent_at
            drain(connection, until=lambda: lane.claims.sent_at > asked and not lane.claims.sent)

            assert lane.period > 40
            assert lane.next_claim_at - lane.claims.sent_at <= 30


def test_an_idle_consumer_of_64_slots_sends_less_than_two_requests_a_second(cluster: LocalCluster) -> None:
    with ExitStack() as stack:
        nodes = [stack.enter_context(node.client()) for node in cluster.masters]
        connection = stack.enter_context(Connection(cluster.url))
        channel = connection.channel()
        stack.enter_context(Consumer(channel, [slotted(64)], on_message=lambda _: None))
        drain(connection, until=lambda: all_listen(channel))

        asked = [redis_now_ms(nodes[0])]
        before = sum(map(requests_of, nodes))

        def five_seconds_have_passed() -> bool:
            asked.append(redis_now_ms(nodes[0]))
            return asked[-1] - asked[0] >= 5000

        drain(connection, until=five_seconds_have_passed)
        own = len(asked) - 1
        requests = sum(map(requests_of, nodes)) - before - own

        # A busy machine makes this time longer, and the requests no more.
        assert 0 < requests < 2 * (asked[-1] - asked[0]) / 1000


def all_listen(channel: Any) -> bool:
    """Whether each lane has claimed, and waits for its bell."""
    lanes = channel.consumer.lanes.values() if all_have_claimed(channel) else ()
    return bool(lanes) and all(lane.bell.is_listening and not lane.wanted for lane in lanes)


def requests_of(node: redis.Redis) -> int:
    """How many requests of a consumer a node had: claims and looks, which ask for the time, and bells that ended."""
    found = node.info("commandstats")
    return sum(found[name]["calls"] for name in ("cmdstat_time", "cmdstat_blpop") if name in found)
