"""Verbs whose work is cut into calls: an id published thousands of times, a queue with much to keep."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from delayhub.engine import Counts, DelayQueue, Entry, delay_queue

LATER = 4_000_000_000_000


def test_an_id_published_ten_thousand_times_is_found_moved_and_removed_whole(queue: DelayQueue) -> None:
    for _ in range(20):
        queue.schedule([Entry("same", LATER, b"x") for _ in range(500)])
    queue.schedule([Entry("other", LATER, b"y")])

    assert {name: len(found) for name, found in queue.payloads(["same", "other", "none"]).items()} == {
        "same": 10_000, "other": 1, "none": 0
    }  # fmt: skip
    assert queue.reschedule(["same", "none", "other"], due_ms=LATER + 1) == ["moved", "absent", "moved"]
    assert queue.list("waiting")[0].at_ms == LATER + 1
    assert queue.cancel(["none", "same"]) == [0, 10_000]
    assert queue.count() == Counts(1, 0, 0, 0)
    assert queue.schedule([Entry("same")])[0].id == "same"


def test_a_leased_copy_stays_as_it_is_in_every_call(queue: DelayQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delay_queue, "CHUNK", 2)
    for due in (LATER, LATER, LATER, 0, LATER):
        queue.schedule([Entry("same", due)])
    assert [entry.id for entry in queue.claim(10).entries] == ["same#3"]

    assert queue.reschedule(["same"], due_ms=LATER + 1) == ["moved"]
    assert queue.cancel(["same"]) == [4]
    assert queue.reschedule(["same"], due_ms=LATER) == ["leased"]
    assert queue.count() == Counts(0, 0, 1, 0)


def test_a_purge_that_must_keep_much_keeps_it_and_removes_the_rest(
    queue: DelayQueue, now_ms: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delay_queue, "CHUNK", 3)
    queue.schedule([Entry(f"held{n}") for n in range(4)])
    held = [queue.lease(entry.id, entry.token) for entry in queue.claim(4).entries]
    queue.bury(held[:2], reason="x")
    queue.schedule([Entry(f"ready{n}", step=n % 10) for n in range(20)])
    queue.schedule([Entry("same", LATER) for _ in range(10)])

    assert queue.purge() == 30

    assert queue.count() == Counts(0, 0, 2, 2)
    assert queue.acknowledge(held[2:]) == 2
    assert queue.redrive() == 2
    assert queue.purge() == 2
    assert queue.client.exists(*queue.keys.every) == 0


def test_bulk_verbs_take_more_than_lua_can_unpack(queue: DelayQueue) -> None:
    names = [f"t{number}" for number in range(9000)]
    queue.schedule([Entry(name) for name in names])
    held = [queue.lease(e.id, e.token) for _ in range(9) for e in queue.claim(1000).entries]
    assert len(held) == 9000

    assert len(queue.extend(held)) == 9000
    assert queue.release(held) == 9000
    held = [queue.lease(e.id, e.token) for _ in range(9) for e in queue.claim(1000).entries]
    assert queue.bury(held[:4500], reason="x") == 4500
    assert queue.redrive([lease.id for lease in held[:4500]]) == 4500
    assert queue.acknowledge(held) == 4500  # the others are not theirs any more
    assert sum(queue.cancel(names)) == 4500
    assert queue.client.exists(*queue.keys.every) == 0


def test_a_publish_that_is_sent_again_is_found_beside_copies_of_its_id(queue: DelayQueue) -> None:
    queue.schedule([Entry("same", LATER, b"first", publish_token="first")])
    again = Entry("same", LATER, b"the second one", publish_token="second")

    answers = [queue.schedule([entry])[0] for entry in (again, again, Entry("same", LATER, b"third"), again)]

    assert [answer.outcome for answer in answers] == ["copied", "repeated", "copied", "repeated"]
    assert queue.count() == Counts(3, 0, 0, 0)


def test_a_publish_without_a_token_is_stored_each_time(queue: DelayQueue) -> None:
    for _ in range(2):
        queue.schedule([Entry("same", LATER, b"x")])

    assert queue.count() == Counts(2, 0, 0, 0)
