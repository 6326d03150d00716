"""Which commands a claim is made of, and which reply belongs to what."""

from __future__ import annotations

from typing import Any

from delayhub.engine import EngineOptions, LaneKeys, Lease, parse_claim
from delayhub.engine.scripts import script
from delayhub.transport.consuming.claim_request import ClaimRequest
from delayhub.transport.timer_queue import TimerQueue

TIMERS = {"timers": TimerQueue("t.deliver", 10)}


def request(*queues: str, credit: int = 5, acknowledged: tuple[Lease, ...] = ()) -> ClaimRequest:
    return ClaimRequest.of(
        queues,
        credit=credit,
        acknowledged=acknowledged,
        no_ack={"replies"},
        timer_queues=TIMERS,
        keyed_limit=7,
        key_limit=5,
        consumer="me",
        options=EngineOptions(key_prefix="p:"),
    )


def scripts(made: ClaimRequest) -> list[str]:
    return [verb.name for verb, _ in made.commands if verb is not None]


def test_acknowledgements_of_claimed_queues_travel_with_the_claim_and_others_go_before_it() -> None:
    done = (Lease("q", "q", "a", 1), Lease("gone", "gone", "b", 2), Lease("timers", "close", "c", 3))

    made = request("q", "timers", acknowledged=done)

    assert scripts(made) == ["acknowledge", "acknowledge", "claim", "claim_timers"]
    gone, close, claim, _ = [command for _, command in made.commands]
    assert gone[3:] == (LaneKeys("gone", "p:").queue("gone").base, LaneKeys("gone", "p:").base, "b", 2)
    assert close[3:] == (LaneKeys("timers", "p:").queue("close").base, LaneKeys("timers", "p:").base, "c", 3)
    assert claim[-6:] == (0, 1, "a", 1, 0, 0)  # of q one, of timers none


def test_a_queue_without_acknowledgements_is_claimed_so() -> None:
    (_, command) = request("replies").commands[0]

    assert command[-2:] == (1, 0)


def test_timer_lanes_are_asked_for_as_many_batches_as_there_is_credit() -> None:
    (_, command) = request("timers", credit=3).commands[-1]

    assert command[0:2] == ("EVALSHA", script("claim_timers").sha)
    assert command[-4:] == (30, 7, 5, 0)  # this task writes no gates


def test_without_credit_no_timers_are_asked_for() -> None:
    made = request("q", "timers", credit=0)

    assert scripts(made) == ["claim"]
    assert made.lanes == []


def test_each_reply_finds_what_it_answers() -> None:
    made = request("q", "timers", acknowledged=(Lease("gone", "gone", "b", 2),))
    claim: list[Any] = [1_000, -1, 0, 0, 0, [], 0, -1]

    messages, timers = made.replies([1, claim, "of the lane"])

    assert parse_claim(messages).now_us == 1_000
    assert timers == [("timers", "of the lane")]


def test_without_a_queue_there_is_no_claim_only_acknowledgements() -> None:
    made = request(acknowledged=(Lease("gone", "gone", "b", 2),))

    assert scripts(made) == ["acknowledge"]
    assert made.replies([1]) == (None, [])
