"""A queue of messages: each verb, on a real Redis."""

from __future__ import annotations

import pytest
import redis

from delayhub.clock import MAX_DELAY_MS
from delayhub.engine import Claim, Counts, DelayQueue, EngineOptions, Entry, Lease, Mode, Place
from tests.fixture_types import Now, Until


def leases(queue: DelayQueue, claim: Claim) -> list[Lease]:
    return [queue.lease(entry.id, entry.token) for entry in claim.entries]


def ids(claim: Claim) -> list[str]:
    return [entry.id for entry in claim.entries]


def test_a_message_is_claimed_with_its_payload_when_it_is_due(queue: DelayQueue, now_ms: Now, until: Until) -> None:
    due = now_ms() + 1_000  # long enough for the early claim, also on a machine that is busy
    queue.schedule([Entry("later", due, b"body")])

    early = queue.claim()
    until(due)
    late = queue.claim()

    assert early.entries == []
    assert early.come_back_ms == due
    assert late.now_ms >= due
    assert [(entry.id, entry.payload) for entry in late.entries] == [("later", b"body")]


def test_five_thousand_messages_come_out_in_the_order_they_went_in(queue: DelayQueue) -> None:
    sent = [f"{number * 7919 % 5000:04d}" for number in range(5000)]
    for name in sent:
        queue.schedule([Entry(name)])

    received: list[str] = []
    while claim := queue.claim(1000).entries:
        received += [entry.id for entry in claim]

    assert received == sent


def test_entries_of_one_batch_keep_their_order(queue: DelayQueue) -> None:
    sent = [f"{number * 7919 % 2000:04d}" for number in range(2000)]
    queue.schedule([Entry(name) for name in sent])

    received = ids(queue.claim(1000)) + ids(queue.claim(1000))

    assert received == sent


def test_a_lower_step_goes_first(queue: DelayQueue, now_ms: Now, until: Until) -> None:
    due = now_ms() + 20
    queue.schedule([Entry("low", due, step=3), Entry("high", due, step=0), Entry("middle", 0, step=1)])

    until(due)

    assert ids(queue.claim()) == ["high", "middle", "low"]


def test_a_taken_id_is_stored_as_a_copy_and_both_are_delivered(queue: DelayQueue) -> None:
    answers = queue.schedule([Entry("same", payload=b"1"), Entry("same", payload=b"2"), Entry("same", payload=b"3")])

    assert [answer.outcome for answer in answers] == ["added", "copied", "copied"]
    assert [(e.id, e.payload) for e in queue.claim().entries] == [("same", b"1"), ("same#1", b"2"), ("same#2", b"3")]


def test_an_id_that_a_consumer_holds_is_taken_too(queue: DelayQueue) -> None:
    queue.schedule([Entry("retry", payload=b"first")])
    first = queue.claim()

    again = queue.schedule([Entry("retry", payload=b"again")])
    queue.acknowledge(leases(queue, first))

    assert again[0].id == "retry#1"
    assert [entry.payload for entry in queue.claim().entries] == [b"again"]


def test_cancel_takes_an_id_and_its_copies(queue: DelayQueue) -> None:
    queue.schedule([Entry("same"), Entry("same"), Entry("other")])

    assert queue.cancel(["same", "never"]) == [2, 0]
    assert ids(queue.claim()) == ["other"]


def test_nothing_is_left_in_redis_when_everything_is_done(queue: DelayQueue, redis_client: redis.Redis) -> None:
    queue.schedule([Entry("same"), Entry("same"), Entry("same"), Entry("other", step=2)])
    queue.acknowledge(leases(queue, queue.claim()))

    left = {key for key in redis_client.scan_iter() if key.startswith(queue.keys.base.encode())}

    assert left == set()


def test_replace_and_if_absent(queue: DelayQueue, now_ms: Now) -> None:
    queue.schedule([Entry("a", now_ms() + 60_000, b"old")])

    left = queue.schedule([Entry("a", 0, b"ignored")], mode=Mode.IF_ABSENT)
    replaced = queue.schedule([Entry("a", 0, b"new")], mode=Mode.REPLACE)

    assert [left[0].outcome, replaced[0].outcome] == ["exists", "replaced"]
    assert [entry.payload for entry in queue.claim().entries] == [b"new"]
    assert queue.count() == Counts(0, 0, 1, 0)


def test_a_replaced_message_is_no_longer_its_old_holders(queue: DelayQueue) -> None:
    queue.schedule([Entry("a", payload=b"old")])
    old = leases(queue, queue.claim())

    queue.schedule([Entry("a", payload=b"new")], mode=Mode.REPLACE)

    assert queue.acknowledge(old) == 0
    assert [entry.payload for entry in queue.claim().entries] == [b"new"]


def test_reschedule_moves_what_no_consumer_holds(queue: DelayQueue, now_ms: Now) -> None:
    later = now_ms() + 60_000
    queue.schedule([Entry("held"), Entry("waiting", later, step=2), Entry("ready", step=3)])
    queue.claim(1)

    answers = queue.reschedule(["held", "waiting", "ready", "absent"], due_ms=later + 5)

    assert answers == ["leased", "moved", "moved", "absent"]
    assert {(listed.id, listed.at_ms, listed.step) for listed in queue.list("waiting")} == {
        ("waiting", later + 5, 2),
        ("ready", later + 5, 3),
    }


def test_a_released_message_goes_back_to_its_place(queue: DelayQueue) -> None:
    queue.schedule([Entry("1"), Entry("2"), Entry("3")])
    first = queue.claim(2)

    queue.release(leases(queue, first))

    assert ids(queue.claim()) == ["1", "2", "3"]


def test_a_message_released_with_a_delay_waits(queue: DelayQueue) -> None:
    queue.schedule([Entry("1", step=2)])
    claim = queue.claim()

    queue.release(leases(queue, claim), delay_ms=60_000)

    (listed,) = queue.list("waiting")
    assert (listed.id, listed.step, listed.strikes) == ("1", 2, 0)
    assert listed.at_ms >= claim.now_ms + 60_000


def test_a_lease_that_ran_out_costs_a_strike_and_the_old_token_is_void(queue: DelayQueue) -> None:
    queue.schedule([Entry("1"), Entry("2")])
    lost = queue.claim(1, lease_ms=0)

    again = queue.claim(1)

    assert (again.entries[0].id, again.entries[0].strikes) == ("1", 1)
    assert queue.release(leases(queue, lost)) == 0
    assert queue.extend(leases(queue, lost)) == set()
    assert queue.bury(leases(queue, lost), reason="x") == 0
    assert queue.acknowledge(leases(queue, again)) == 1


def lose(queue: DelayQueue, place: Place) -> list[Lease]:
    """The lease that a consumer lost on the only message of a queue, which is in that place by now."""
    queue.schedule([Entry("1")])
    lost = leases(queue, queue.claim(lease_ms=0))
    queue.reap()
    if place is Place.WAITING:
        queue.reschedule(["1"], due_ms=4_000_000_000_000)
    elif place is not Place.READY:
        held = leases(queue, queue.claim(1))
        if place is Place.DEAD:
            queue.bury(held, reason="x")
    assert len(queue.list(place)) == 1
    return lost


@pytest.mark.parametrize("place", sorted({*Place} - {Place.PARKED}))  # which test_limits.py has
def test_who_lost_its_lease_ends_the_message_all_the_same_when_its_work_is_done(
    place: Place, queue: DelayQueue
) -> None:
    lost = lose(queue, place)

    assert queue.acknowledge(lost) == 1

    assert queue.count() == Counts(0, 0, 0, 0)
    assert queue.client.exists(*queue.keys.every) == 0
    assert queue.acknowledge(lost) == 0, "sent twice, it does no harm"


def test_of_two_who_lost_their_leases_each_may_end_the_message(queue: DelayQueue) -> None:
    queue.schedule([Entry("1"), Entry("2")])
    first = leases(queue, queue.claim(lease_ms=0))
    second = leases(queue, queue.claim(lease_ms=0))
    queue.reap()

    assert queue.acknowledge([first[0], second[1]]) == 2
    assert queue.count() == Counts(0, 0, 0, 0)


def test_who_lost_its_lease_does_not_end_a_later_message_of_the_same_id(queue: DelayQueue) -> None:
    lost = lose(queue, Place.READY)
    queue.acknowledge(leases(queue, queue.claim()))
    queue.schedule([Entry("1")])
    queue.claim(lease_ms=0)
    queue.reap()

    assert queue.acknowledge(lost) == 0
    assert queue.count() == Counts(0, 1, 0, 0)


def test_a_message_that_was_redriven_is_not_ended_by_who_lost_it_before(queue: DelayQueue) -> None:
    lost = lose(queue, Place.DEAD)
    queue.redrive()

    assert queue.acknowledge(lost) == 0
    assert queue.count() == Counts(0, 1, 0, 0)


def test_a_purge_leaves_what_ends_a_message_that_it_keeps(queue: DelayQueue) -> None:
    lost = lose(queue, Place.LEASED)
    queue.purge()

    assert queue.acknowledge(lost) == 1


def test_extend_puts_off_the_end_and_keeps_the_token(queue: DelayQueue) -> None:
    queue.schedule([Entry("1")])
    claim = queue.claim(lease_ms=60_000)

    kept = queue.extend(leases(queue, claim), lease_ms=120_000)

    assert kept == {"1"}
    assert queue.list("leased")[0].at_ms >= claim.now_ms + 120_000
    assert queue.acknowledge(leases(queue, claim)) == 1


def test_a_message_with_two_strikes_is_the_only_one_of_its_claim(queue: DelayQueue) -> None:
    queue.schedule([Entry("good"), Entry("poison"), Entry("good too")])
    for _ in range(2):
        first = queue.claim(1)
        queue.claim(1, lease_ms=0)  # takes "poison" and loses it
        queue.release(leases(queue, first))

    claims = [ids(queue.claim()) for _ in range(3)]

    assert claims == [["good"], ["poison"], ["good too"]]


def test_after_the_last_strike_a_message_is_dead_with_the_reason_and_can_be_redriven(redis_client: redis.Redis) -> None:
    queue = DelayQueue(redis_client, "orders", options=EngineOptions(max_strikes=3))
    queue.schedule([Entry("poison", payload=b"p")])
    for _ in range(3):
        assert ids(queue.claim(lease_ms=0)) == ["poison"]

    assert queue.claim().entries == []
    (dead,) = queue.list("dead", payloads=True)
    assert (dead.id, dead.reason, dead.payload) == ("poison", "lease ran out 3 times", b"p")
    assert queue.redrive() == 1
    assert [(entry.id, entry.strikes) for entry in queue.claim().entries] == [("poison", 0)]


def test_a_dead_message_that_is_moved_to_another_time_begins_anew(redis_client: redis.Redis) -> None:
    queue = DelayQueue(redis_client, "orders", options=EngineOptions(max_strikes=3))
    lost = lose(queue, Place.DEAD)

    assert queue.reschedule(["1"], due_ms=0) == ["moved"]

    assert queue.acknowledge(lost) == 0
    assert [(entry.id, entry.strikes) for entry in queue.claim().entries] == [("1", 0)]


def test_a_buried_message_says_why(queue: DelayQueue) -> None:
    queue.schedule([Entry("broken")])

    queue.bury(leases(queue, queue.claim()), reason="not JSON")

    assert queue.list("dead")[0].reason == "not JSON"
    assert queue.cancel(["broken"]) == [1]
    assert queue.count() == Counts(0, 0, 0, 0)


def test_a_claim_without_acknowledgement_deletes(queue: DelayQueue) -> None:
    queue.schedule([Entry("reply", payload=b"pong")])

    claim = queue.claim(no_ack=True)

    assert [(entry.payload, entry.token) for entry in claim.entries] == [(b"pong", 0)]
    assert queue.count() == Counts(0, 0, 0, 0)


def test_acknowledgements_travel_with_the_next_claim(queue: DelayQueue) -> None:
    queue.schedule([Entry(str(number)) for number in range(4)])
    first = queue.claim(2)

    second = queue.claim(2, acknowledged=leases(queue, first))

    assert second.acknowledged == 2
    assert queue.count() == Counts(0, 0, 2, 0)


def test_a_claim_ends_at_its_share_of_bytes(redis_client: redis.Redis) -> None:
    queue = DelayQueue(redis_client, "orders", options=EngineOptions(max_claim_bytes=512 * 1024))
    queue.schedule([Entry(str(number), payload=b"x" * 100_000) for number in range(100)])

    claim = queue.claim(100)

    assert 6 <= len(claim.entries) <= 25
    assert claim.more


def test_purge_leaves_what_is_held_and_what_is_dead(queue: DelayQueue, now_ms: Now) -> None:
    queue.schedule([Entry("dead"), Entry("held"), Entry("ready"), Entry("waiting", now_ms() + 60_000)])
    queue.bury(leases(queue, queue.claim(1)), reason="x")
    held = queue.claim(1)

    assert queue.purge() == 2
    assert queue.count() == Counts(0, 0, 1, 1)
    queue.release(leases(queue, held))
    assert [(entry.id, entry.payload) for entry in queue.claim().entries] == [("held", b"")]


def test_delete_leaves_no_key(queue: DelayQueue, redis_client: redis.Redis, now_ms: Now) -> None:
    queue.schedule([Entry("1"), Entry("2", now_ms() + 60_000)])
    queue.claim(1)

    queue.delete()

    assert redis_client.keys() == [queue.lane_keys.token.encode()]


def test_lists_are_paged(queue: DelayQueue, now_ms: Now) -> None:
    base = now_ms() + 60_000
    queue.schedule([Entry(f"w{number}", base + number) for number in range(5)])
    queue.schedule([Entry("r0", step=0), Entry("r3", step=3)])

    assert [listed.id for listed in queue.list("waiting", offset=2, limit=2)] == ["w2", "w3"]
    assert [listed.id for listed in queue.list("ready", offset=1, limit=5)] == ["r3"]
    assert queue.list("waiting", offset=9) == []


@pytest.mark.parametrize(
    "due",
    [
        2**31 * 1000 + 5,  # past January 2038
        2_208_988_800_123,  # the year 2040
        1_795_000_000_000 + MAX_DELAY_MS,
    ],
)
def test_due_times_of_years_are_exact(queue: DelayQueue, due: int) -> None:
    queue.schedule([Entry("far", due, step=3)])

    assert [(listed.at_ms, listed.step) for listed in queue.list("waiting")] == [(due, 3)]
    assert queue.claim().come_back_ms == due


def test_a_due_time_in_the_past_is_due_now(queue: DelayQueue, now_ms: Now) -> None:
    queue.schedule([Entry("past", now_ms() - 5), Entry("long past", -1)])

    assert ids(queue.claim()) == ["past", "long past"]


def test_scripts_survive_a_flush_of_the_script_cache(queue: DelayQueue, redis_client: redis.Redis) -> None:
    queue.schedule([Entry("1")])
    redis_client.script_flush()

    assert ids(queue.claim()) == ["1"]


def test_ids_may_be_any_text(queue: DelayQueue) -> None:
    odd = ["a b", "line\nbreak", "☃", "x:y|z", "{tag}", "#1", "a#1", "%", "\x00"]
    queue.schedule([Entry(name, payload=name.encode()) for name in odd])

    claim = queue.claim()

    assert ids(claim) == odd
    assert queue.acknowledge(leases(queue, claim)) == len(odd)
