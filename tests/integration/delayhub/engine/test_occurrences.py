"""OccurrenceBook: one token an occurrence, and a message only for the one that holds it."""

from __future__ import annotations

import pytest
import redis

from delayhub.engine import DelayQueue, Entry
from delayhub.engine.occurrences import ClaimedOccurrence, Occurrence, OccurrenceBook, PeriodicEntry
from delayhub.engine.unique import UniqueKey, WhenTaken, offer
from tests.fixture_types import Now, Until

FAR_MS = 4_000_000_000_000


@pytest.fixture
def book(redis_client: redis.Redis) -> OccurrenceBook:
    return OccurrenceBook(redis_client, "orders")


def planned(book: OccurrenceBook, at_ms: int) -> PeriodicEntry:
    entry = PeriodicEntry(print="p", grid="g", task="shop.close", next=at_ms)
    assert book.plan("close", entry, instead_of=None)
    return entry


def claimed(book: OccurrenceBook, at_ms: int, *, beat: str = "a", fingerprint: str = "p") -> ClaimedOccurrence:
    return book.claim("close", fingerprint, due_ms=at_ms, beat=beat)


def occurrence(claim: ClaimedOccurrence, at_ms: int) -> Occurrence:
    return Occurrence(
        lane="orders", name="close", token=claim.token, due_ms=at_ms, nominal_ms=at_ms, next_ms=at_ms + 60_000
    )


def test_one_beat_gets_a_token_and_its_message_moves_the_entry_on(
    book: OccurrenceBook, queue: DelayQueue, now_ms: Now
) -> None:
    at = now_ms()
    planned(book, at)

    first, second = claimed(book, at), claimed(book, at, beat="b")
    assert first.token
    assert (second.token, second.entry and second.entry.holder) == ("", "a")
    done = occurrence(first, at)
    assert book.put(done, Entry("one", payload=b"1")) == ("added", "one")
    assert book.put(done, Entry("one", payload=b"1")) == ("repeated", "one")  # the reply was lost, and it is sent again

    assert queue.count().ready == 1
    found = book.all()["close"]
    assert (found.last, found.next, found.count, found.holder) == (at, at + 60_000, 1, "")


@pytest.mark.parametrize("why", ["early", "other definition", "other time", "unknown"])
def test_no_token_where_the_occurrence_is_not_the_callers(why: str, book: OccurrenceBook, now_ms: Now) -> None:
    at = now_ms() + (60_000 if why == "early" else 0)
    if why != "unknown":
        planned(book, at)

    claim = claimed(book, at - (why == "other time"), fingerprint="q" if why == "other definition" else "p")

    assert claim.token == ""
    assert (claim.entry is None) == (why == "unknown")


def test_a_token_that_lapsed_is_void_once_another_beat_has_one(
    book: OccurrenceBook, queue: DelayQueue, now_ms: Now, until: Until
) -> None:
    at = now_ms()
    planned(book, at)
    slow = claimed(book, at)
    until(now_ms() + 1001)
    fast = claimed(book, at, beat="b")

    assert book.put(occurrence(slow, at), Entry("late")) is None
    assert not book.settle(occurrence(slow, at))
    assert book.put(occurrence(fast, at), Entry("right")) == ("added", "right")
    assert book.put(occurrence(slow, at), Entry("late")) is None
    assert queue.count().ready == 1


def test_a_lapsed_token_that_no_other_beat_took_over_still_counts(
    book: OccurrenceBook, now_ms: Now, until: Until
) -> None:
    at = now_ms()
    planned(book, at)
    slow = claimed(book, at)
    until(now_ms() + 1001)

    assert book.put(occurrence(slow, at), Entry("one")) == ("added", "one")


def test_an_id_that_is_taken_is_stored_as_a_copy(book: OccurrenceBook, queue: DelayQueue, now_ms: Now) -> None:
    queue.schedule([Entry("one")])
    at = now_ms()
    planned(book, at)

    assert book.put(occurrence(claimed(book, at), at), Entry("one")) == ("copied", "one#1")


def test_a_unique_message_that_is_sent_again_says_again_what_it_replaced(
    book: OccurrenceBook, queue: DelayQueue, now_ms: Now
) -> None:
    at, unique = now_ms(), UniqueKey(key="k", when_taken=WhenTaken.REPLACE)
    offer(queue, Entry("before", FAR_MS, payload=b"0"), unique)
    planned(book, at)
    done = occurrence(claimed(book, at), at)

    assert book.put(done, Entry("one", payload=b"1"), unique=unique) == ("replaced", "one", "before", b"0")
    assert book.put(done, Entry("one", payload=b"1"), unique=unique) == ("repeated", "one", "before", b"0")
    assert queue.count().ready == 1


def test_a_skipped_occurrence_leaves_the_last_one_as_it_was(book: OccurrenceBook, now_ms: Now) -> None:
    at = now_ms()
    planned(book, at)
    done = occurrence(claimed(book, at), at)

    assert book.settle(done, is_skipped=True)
    assert book.settle(done, is_skipped=True)  # sent again

    found = book.all()["close"]
    assert (found.last, found.next, found.count) == (0, at + 60_000, 0)


def test_a_plan_is_written_only_where_nothing_changed_meanwhile(book: OccurrenceBook, now_ms: Now) -> None:
    at = now_ms()
    entry = planned(book, at)
    changed = PeriodicEntry(print="q", grid="g", next=at)

    assert not book.plan("close", changed, instead_of=None)
    book.settle(occurrence(claimed(book, at), at))
    assert not book.plan("close", changed, instead_of=entry)  # it was published meanwhile
    assert book.plan("close", changed, instead_of=book.all()["close"])
    assert not book.settle(occurrence(claimed(book, at), at))
