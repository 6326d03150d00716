"""Unique keys in the engine: who has a key, who waits for it, and that it is free whenever its message is gone."""

from __future__ import annotations

import pytest
import redis

from delayhub.engine import DelayQueue, EngineOptions, Entry, Lease, Place
from delayhub.engine.key_holders import look_at_keys
from delayhub.engine.keys import QUEUE_PARTS
from delayhub.engine.unique import Offered, UniqueKey, Until, WhenTaken, free_key, offer, start
from delayhub.errors import OptionError
from tests.fixture_types import Now
from tests.fixture_types import Until as UntilRedisMs

MODES = {mode.value: mode for mode in WhenTaken}


def put(queue: DelayQueue, name: str, mode: str = "refuse", *, due_ms: int = 0, **of_key: object) -> Offered:
    """Offers a message for the key ``k``."""
    options: dict[str, object] = {"key": "k", **of_key}
    unique = UniqueKey(when_taken=MODES[mode], **options)  # type: ignore[arg-type]  # as the tests give them
    return offer(queue, Entry(name, due_ms, f"<{name}>".encode(), publish_token=f"<{name}>"), unique)


def outcome(queue: DelayQueue, name: str, mode: str = "refuse", **of_key: object) -> tuple[str, str]:
    """What became of it, and the id."""
    return put(queue, name, mode, **of_key)[:2]  # type: ignore[arg-type]  # as above


def claimed(queue: DelayQueue, *, lease_ms: int | None = None) -> list[Lease]:
    """The leases of all that a claim gives."""
    return [queue.lease(entry.id, entry.token) for entry in queue.claim(100, lease_ms=lease_ms).entries]


def holder(queue: DelayQueue) -> str | None:
    """The id that has the key."""
    return next((one.id for one in look_at_keys(queue, limit=1000).found if one.key == "k"), None)


def left(queue: DelayQueue) -> list[bytes]:
    """What there is of unique keys in Redis."""
    keys = queue.keys
    return [key for key in (keys.unique, keys.followers, keys.timed, keys.timed_ids) if queue.client.exists(key)]


def test_a_key_is_taken_from_the_publish_until_the_end(queue: DelayQueue) -> None:
    assert outcome(queue, "a") == ("added", "a")
    assert outcome(queue, "b") == ("refused", "a")
    assert outcome(queue, "other", key="k2") == ("added", "other")

    leases = claimed(queue)
    assert outcome(queue, "c") == ("refused", "a")

    queue.acknowledge(leases)
    assert left(queue) == []
    assert outcome(queue, "d") == ("added", "d")


def test_a_publish_whose_reply_was_lost_is_not_refused_by_its_own_message(queue: DelayQueue) -> None:
    put(queue, "a")

    assert outcome(queue, "a") == ("repeated", "a")
    assert queue.count().ready == 1


ENDS = {
    "cancelled": lambda queue, leases: queue.release(leases) and queue.cancel(["a"]),
    "discarded": lambda queue, leases: queue.release(leases) and queue.discard(["a"]),
    "purged": lambda queue, leases: queue.release(leases) and queue.purge(),
    "buried": lambda queue, leases: queue.bury(leases, reason="x"),
    "struck dead": lambda queue, leases: queue.strike(leases, why="x"),
    "deleted": lambda queue, leases: queue.delete(),
}


@pytest.mark.parametrize("end", ENDS)
def test_whatever_ends_a_message_frees_its_key(redis_client: redis.Redis, end: str) -> None:
    queue = DelayQueue(redis_client, "q", options=EngineOptions(max_strikes=1))
    put(queue, "a")
    leases = claimed(queue)

    ENDS[end](queue, leases)

    assert holder(queue) is None
    assert outcome(queue, "b") == ("added", "b")


def test_a_message_that_comes_back_from_a_lost_worker_keeps_its_key(queue: DelayQueue) -> None:
    put(queue, "a")
    claimed(queue, lease_ms=0)

    assert queue.reap() == (1, 0)

    assert outcome(queue, "b") == ("refused", "a")


def test_a_message_that_was_acknowledged_early_is_gone_with_its_lease_and_never_given_out_again(
    queue: DelayQueue,
) -> None:
    put(queue, "a")
    [lease] = claimed(queue)
    assert start(queue, [lease]) == 1
    assert outcome(queue, "b") == ("refused", "a")

    queue.extend([lease], lease_ms=0)  # its worker is killed, and renews it no more

    assert claimed(queue) == []
    assert sum(queue.count()) == 0
    assert left(queue) == []


def test_a_message_without_a_key_can_not_be_noted_as_started(queue: DelayQueue) -> None:
    queue.schedule([Entry("a")])
    leases = claimed(queue, lease_ms=0)

    assert start(queue, leases) == 0
    assert [lease.id for lease in claimed(queue)] == ["a"]


def test_until_its_start_ends_when_it_is_claimed(queue: DelayQueue) -> None:
    put(queue, "a", until=Until.START)
    assert outcome(queue, "b", until=Until.START) == ("refused", "a")

    leases = claimed(queue)

    assert outcome(queue, "c", until=Until.START) == ("added", "c")
    queue.acknowledge([*leases, *claimed(queue)])
    assert left(queue) == []


def test_a_key_for_a_time_ends_with_it_and_not_with_its_message(
    queue: DelayQueue, now_ms: Now, until: UntilRedisMs
) -> None:
    began = now_ms()
    put(queue, "a", until=Until.TIME, milliseconds=1500)
    queue.acknowledge(claimed(queue))
    assert outcome(queue, "b", until=Until.TIME, milliseconds=1500) == ("refused", "a")
    # what others wait for is never refused
    assert outcome(queue, "c", "wait", until=Until.TIME, milliseconds=1500) == ("added", "c")

    until(began + 1700)

    assert left(queue) == []
    assert outcome(queue, "d", until=Until.TIME, milliseconds=1500) == ("added", "d")


def test_a_step_of_a_chain_that_is_published_twice_waits_for_itself(queue: DelayQueue) -> None:
    put(queue, "a")
    claimed(queue)

    again = offer(queue, Entry("a", payload=b"again"), UniqueKey(key="k", when_taken=WhenTaken.WAIT))

    assert again[:2] == ("follows", "a#1")
    assert claimed(queue) == []


def test_what_may_not_be_refused_waits_and_goes_one_after_the_other(queue: DelayQueue, now_ms: Now) -> None:
    put(queue, "a")
    assert outcome(queue, "b", "wait") == ("follows", "b")
    assert outcome(queue, "later", "wait", due_ms=now_ms() + 60_000) == ("follows", "later")
    assert outcome(queue, "c", "wait") == ("follows", "c")
    assert [(one.id, one.following) for one in look_at_keys(queue, limit=1000).found] == [("a", 3)]
    order = []
    leases = claimed(queue)

    while leases:
        order.append(leases[0].id)
        assert len(leases) == 1
        queue.acknowledge(leases)
        leases = claimed(queue)

    assert order == ["a", "b"]
    # the next has the key, and is due later: it has its own time again
    assert [listed.id for listed in queue.list(Place.WAITING) if listed.at_ms <= now_ms() + 60_000] == ["later"]


def test_a_waiting_message_that_is_rescheduled_still_waits_for_its_key(queue: DelayQueue) -> None:
    put(queue, "a")
    put(queue, "b", "wait")

    assert queue.reschedule(["b"], due_ms=0) == ["moved"]

    assert [lease.id for lease in claimed(queue)] == ["a"]


def test_replacing_acts_on_what_waits_and_else_waits_as_the_only_one(queue: DelayQueue) -> None:
    put(queue, "a", "replace")
    assert put(queue, "b", "replace") == ("replaced", "b", "a", b"<a>")
    [running] = claimed(queue)
    assert running.id == "b"

    assert put(queue, "c", "replace")[:2] == ("follows", "c")
    assert put(queue, "d", "replace") == ("replaced", "d", "c", b"<c>")

    assert queue.count().waiting == 1
    queue.acknowledge([running])
    assert [lease.id for lease in claimed(queue)] == ["d"]


def test_what_others_wait_for_is_never_replaced(queue: DelayQueue) -> None:
    put(queue, "canvas", "wait", is_canvas=True)

    assert put(queue, "a", "replace")[:2] == ("follows", "a")

    leases = claimed(queue)
    assert [lease.id for lease in leases] == ["canvas"]


def test_a_dead_message_has_no_key_and_a_redrive_takes_it_again_or_is_refused(queue: DelayQueue) -> None:
    put(queue, "a")
    queue.bury(claimed(queue), reason="x")
    put(queue, "b")

    assert queue.redrive(["a"]) == 0
    assert queue.reschedule(["a"], due_ms=0) == ["absent"]
    queue.acknowledge(claimed(queue))
    assert queue.redrive(["a"]) == 1

    assert outcome(queue, "c") == ("refused", "a")


def test_a_message_that_expired_while_it_waits_has_no_key(queue: DelayQueue, now_ms: Now) -> None:
    put(queue, "a", expires_ms=now_ms() - 1)

    assert outcome(queue, "b") == ("added", "b")
    leases = claimed(queue)  # one that runs has it, whatever its expiry says
    assert outcome(queue, "c") == ("refused", "b")
    queue.acknowledge(leases)
    assert left(queue) == []


def test_a_key_goes_with_its_message_to_another_queue_unless_it_is_taken_there(queue: DelayQueue) -> None:
    other = DelayQueue(queue.client, "other")
    put(queue, "a")
    put(other, "b")
    moving = {"a": (b"<a>", b"<a>")}

    assert queue.transfer(moving, to=other) == ["taken"]
    other.discard(["b"])
    assert queue.transfer(moving, to=other) == ["moved"]

    assert left(queue) == []
    assert outcome(other, "c") == ("refused", "a")


def test_one_that_is_removed_together_with_the_one_it_waits_for_leaves_nothing(queue: DelayQueue) -> None:
    for _ in range(2):
        offer(queue, Entry("a", payload=b"?"), UniqueKey(key="k", when_taken=WhenTaken.WAIT))  # one, and a copy of it

    assert queue.cancel(["a"]) == [2]
    assert left(queue) == []  # and nothing had to be put right


def test_a_freed_key_passes_to_the_first_that_waits(queue: DelayQueue) -> None:
    put(queue, "a")
    put(queue, "b", "wait")

    assert free_key(queue, "k")
    assert (holder(queue), sorted(lease.id for lease in claimed(queue))) == ("b", ["a", "b"])
    assert free_key(queue, "k")
    assert not free_key(queue, "k")


def test_a_key_that_another_message_has_by_now_is_not_freed(queue: DelayQueue) -> None:
    put(queue, "a")
    put(queue, "b", "wait")
    put(queue, "t", until=Until.TIME, milliseconds=60_000, key="timed")

    assert not free_key(queue, "k", holder="b")
    assert holder(queue) == "a"
    assert free_key(queue, "k", holder="a")
    assert not free_key(queue, "k", holder="a")
    assert holder(queue) == "b"
    assert not free_key(queue, "timed", holder="a")
    assert free_key(queue, "timed", holder="t")
    assert [one.key for one in look_at_keys(queue, limit=1000).found] == ["k"]


def test_a_key_whose_time_has_just_passed_is_not_freed(queue: DelayQueue, now_ms: Now, until: UntilRedisMs) -> None:
    put(queue, "longer", until=Until.TIME, milliseconds=60_000, key="other")  # so that Redis keeps both
    put(queue, "t", until=Until.TIME, milliseconds=20)
    until(now_ms() + 30)

    assert not free_key(queue, "k", holder="t")
    assert not free_key(queue, "k")


def test_a_purge_leaves_the_keys_of_what_consumers_hold(queue: DelayQueue) -> None:
    put(queue, "a")
    leases = claimed(queue)
    put(queue, "b", "wait")
    put(queue, "c", key="k2")

    assert queue.purge() == 2

    assert [(one.key, one.id, one.following) for one in look_at_keys(queue, limit=1000).found] == [("k", "a", 0)]
    queue.acknowledge(leases)
    assert left(queue) == []


@pytest.mark.parametrize(
    "options",
    [
        {"key": ""},
        {"key": "x" * 257},
        {"key": "a\0b"},
        {"key": "a\ud800"},
        {"until": Until.TIME},
        {"milliseconds": 5},
        {"until": Until.TIME, "milliseconds": 5, "when_taken": WhenTaken.REPLACE},
    ],
)
def test_a_key_that_cannot_work_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        UniqueKey(**{"key": "k", **options})  # type: ignore[arg-type]  # that is what is tested


def test_all_of_it_stands_beside_the_queue(queue: DelayQueue) -> None:
    assert {QUEUE_PARTS[part] for part in ("UNIQUE", "FOLLOWERS", "TIMED", "TIMED_IDS")} == {
        key.removeprefix(queue.keys.base)
        for key in (queue.keys.unique, queue.keys.followers, queue.keys.timed, queue.keys.timed_ids)
    }


@pytest.mark.parametrize("is_purged", [False, True])
def test_a_key_freed_while_its_task_runs_leaves_nothing_behind(queue: DelayQueue, *, is_purged: bool) -> None:
    put(queue, "a")
    (lease,) = claimed(queue, lease_ms=60_000)
    start(queue, [lease])
    assert free_key(queue, "k")
    if is_purged:
        queue.purge()
    assert queue.client.hkeys(queue.keys.unique) == [b"run:a"]  # its lease still never gives it out again

    queue.acknowledge([lease])

    assert left(queue) == []


def test_a_retry_of_a_task_whose_key_was_freed_comes_back_from_a_killed_worker(queue: DelayQueue) -> None:
    put(queue, "a")
    (lease,) = claimed(queue, lease_ms=60_000)
    start(queue, [lease])
    free_key(queue, "k")
    queue.acknowledge([lease])
    put(queue, "a", "continue")
    claimed(queue, lease_ms=0)

    assert queue.reap() == (1, 0)
