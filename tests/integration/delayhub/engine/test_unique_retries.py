"""Unique keys of tasks that publish themselves once more: who passes a key on, and who waits for it."""

from __future__ import annotations

from delayhub.engine import DelayQueue, Entry, Lease
from delayhub.engine.unique import UniqueKey, WhenTaken, free_key, offer


def put(
    queue: DelayQueue, name: str, when_taken: WhenTaken = WhenTaken.REFUSE, *, continued: str = ""
) -> tuple[str, str]:
    """Offers a message for the key ``k``: what became of it, and its id."""
    unique = UniqueKey(key="k", when_taken=when_taken, continued=continued)
    return offer(queue, Entry(name, payload=b"<again>"), unique)[:2]


def retried(queue: DelayQueue, lease: Lease) -> tuple[str, str]:
    """What becomes of the retry of a task that runs under a lease, and its id."""
    return put(queue, lease.id.partition("#")[0], WhenTaken.CONTINUE, continued=lease.mark)


def claimed(queue: DelayQueue, *, lease_ms: int | None = None) -> list[Lease]:
    """The leases of all that a claim gives."""
    return [queue.lease(entry.id, entry.token) for entry in queue.claim(100, lease_ms=lease_ms).entries]


def test_a_retry_takes_the_key_along_and_its_original_does_not_free_it(queue: DelayQueue) -> None:
    put(queue, "a")
    [original] = claimed(queue)

    retry = retried(queue, original)
    queue.acknowledge([original])

    assert retry == ("added", "a#1")
    assert put(queue, "b") == ("refused", "a")
    queue.acknowledge(claimed(queue))
    assert not queue.client.exists(queue.keys.unique)


def test_an_original_that_comes_back_waits_for_the_retry_that_it_published(queue: DelayQueue) -> None:
    put(queue, "a")
    [original] = claimed(queue, lease_ms=0)
    retried(queue, original)

    [retry] = claimed(queue)
    assert retry.id == "a#1"
    assert claimed(queue) == []

    queue.acknowledge([retry])
    assert [lease.id for lease in claimed(queue)] == ["a"]


def test_a_retry_of_one_that_lost_its_lease_waits_for_the_one_that_runs(queue: DelayQueue) -> None:
    put(queue, "a")
    (lost,) = claimed(queue, lease_ms=0)
    (held,) = claimed(queue)

    again = retried(queue, lost)

    assert again == ("follows", "a#1")
    assert queue.acknowledge([lost]) == 0  # the work is done, and the key stays with the one that runs
    assert claimed(queue) == []

    queue.acknowledge([held])
    assert [lease.id for lease in claimed(queue)] == ["a#1"]


def test_one_that_runs_again_after_a_lost_lease_takes_the_key_along_before_others(queue: DelayQueue) -> None:
    put(queue, "a")
    claimed(queue, lease_ms=0)
    (held,) = claimed(queue)
    put(queue, "b", WhenTaken.WAIT)

    assert retried(queue, held) == ("added", "a#1")

    queue.acknowledge([held])
    assert [lease.id for lease in claimed(queue)] == ["a#1"]


def test_a_task_that_publishes_its_retry_twice_leaves_the_key_with_the_first(queue: DelayQueue) -> None:
    put(queue, "a")
    (original,) = claimed(queue)
    retried(queue, original)
    (first,) = claimed(queue)

    assert retried(queue, original) == ("follows", "a#2")  # while its own message is there
    queue.acknowledge([original])
    assert retried(queue, original) == ("follows", "a")  # and after its end
    assert claimed(queue) == []

    queue.acknowledge([first])
    assert [lease.id for lease in claimed(queue)] == ["a#2"]


def test_a_message_whose_key_was_freed_does_not_take_it_from_its_retry_in_the_same_claim(
    queue: DelayQueue,
) -> None:
    put(queue, "a")
    (lost,) = claimed(queue, lease_ms=0)
    free_key(queue, "k")
    retried(queue, lost)
    original, retry = claimed(queue)

    assert (original.id, retry.id, original.token) == ("a", "a#1", retry.token)
    assert retried(queue, original) == ("follows", "a#2")
    assert claimed(queue) == []


def test_an_original_that_is_given_back_for_later_waits_for_its_time_and_for_its_retry(
    queue: DelayQueue,
) -> None:
    put(queue, "a")
    (original,) = claimed(queue)
    retried(queue, original)
    (retry,) = claimed(queue)

    queue.release([original], delay_ms=60_000)
    queue.acknowledge([retry])

    assert claimed(queue) == []
    assert queue.count().waiting == 1


def test_a_retry_that_names_no_lease_waits_for_its_own_message(queue: DelayQueue) -> None:
    put(queue, "a")
    (original,) = claimed(queue)

    assert put(queue, "a", WhenTaken.CONTINUE) == ("follows", "a#1")
    queue.acknowledge([original])
    assert [lease.id for lease in claimed(queue)] == ["a#1"]
