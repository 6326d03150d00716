"""The claim as callers with a connection of their own use it: a command to send, a reply to read."""

from __future__ import annotations

from delayhub.engine import Claim, Claimed, ClaimedQueue, EngineOptions, QueueClaim, claim_command, parse_claim
from delayhub.engine.claim import MAX_CLAIM, Limits
from delayhub.engine.keys import LaneKeys

OPTIONS = EngineOptions(lease_seconds=3, max_strikes=5, max_claim_bytes=1000)
EMPTY = [1_767_225_600_000_500, -1, 0, 0, 0, [], 0, -1]


def test_the_command_has_two_keys_for_each_queue_and_their_acknowledgements_behind() -> None:
    queues = [
        ClaimedQueue("a", "a", acknowledged=[("x", 7), ("y", 8)]),
        ClaimedQueue("b", "b", no_ack=True),
    ]

    evalsha, _, count, *rest = claim_command(queues, limit=10, consumer="me", options=OPTIONS)

    keys, args = rest[:count], rest[count:]
    assert evalsha == "EVALSHA"
    assert keys == [key for name in "ab" for key in (LaneKeys(name).base, LaneKeys(name).queue(name).base)]
    assert args == ["me", 3000, 10, 10, 1000, 5, *(0, 2, "x", 7, "y", 8), *(1, 0)]


def test_no_claim_takes_more_than_redis_should_be_held_for() -> None:
    command = claim_command([ClaimedQueue("a", "a")], limit=10 * MAX_CLAIM, consumer="me", options=OPTIONS)

    assert command[7] == MAX_CLAIM


def test_keys_have_the_prefix_of_the_options() -> None:
    options = EngineOptions(key_prefix="shop:")

    command = claim_command([ClaimedQueue("a", "a")], limit=1, consumer="me", options=options)

    assert all(key.startswith("shop:") for key in command[3:5])


def test_a_reply_with_nothing_in_it_says_when_to_come_back_if_anything_waits() -> None:
    assert parse_claim(EMPTY) == Claim(1_767_225_600_000_500, None, False, False, 0, [], Limits.NONE, None)
    assert parse_claim([*EMPTY[:1], 1_767_225_600_900, *EMPTY[2:]]).come_back_ms == 1_767_225_600_900


def test_a_reply_gives_the_entries_queue_by_queue_with_strikes_and_revocations() -> None:
    second = [2, 41, [b"x", b"one", b"y", b"two"], [b"y", b"3"], [b"x"], [[b"x", b"y"], [b"y"]]]
    third = [3, 0, [b"z", b""], [], None, 0]

    claim = parse_claim([*EMPTY[:2], 1, 1, 4, [second, third], 2, 1_767_225_600_900])

    assert (claim.more, claim.holds_alarm, claim.acknowledged) == (True, True, 4)
    assert (claim.limits, claim.reopens_ms) == (Limits.HELD, 1_767_225_600_900)
    assert claim.queues == [
        QueueClaim(
            1,
            41,
            [
                Claimed("x", b"one", 0, 41, True, limited=True),
                Claimed("y", b"two", 3, 41, False, redelivered=True, limited=True, counted=True),
            ],
        ),
        QueueClaim(2, 0, [Claimed("z", b"", 0, 0, False)]),
    ]
    assert [entry.id for entry in claim.entries] == ["x", "y", "z"]


def test_redis_time_is_rounded_down_to_the_millisecond() -> None:
    assert parse_claim(EMPTY).now_ms == 1_767_225_600_000
