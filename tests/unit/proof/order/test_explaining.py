"""Which histories of one job some order explains, and which none does."""

from __future__ import annotations

from typing import Any

import pytest

from proof.order.event import Answer, Asked, Event
from proof.order.explaining import explained, shortest_story

FIRST, SECOND, THIRD, FOURTH = '"1-pending-a-1"', '"2-pending-b-1"', '"2-running-c-1"', '"2-cancelled-d-1"'
FOREVER = float("inf")


def event(
    verb: str, began: float, ended: float, status: int = 200, *, said: dict[str, Any] | None = None, **asked: Any
) -> Event:
    """One event: what was asked, and what the answer says."""
    return Event(
        who="client", asked=Asked(verb=verb, **asked), answer=Answer(status=status, **(said or {})), began=began,
        ended=ended,
    )  # fmt: skip


def created(*, delay: int = 3600, body: int = 1) -> Event:
    said = {"etag": FIRST, "job": "pending", "version": 1, "body": body}
    return event("create", 0, 1, 201, body=body, delay=delay, said=said)


def read(began: float, etag: str) -> Event:
    version, job = etag.strip('"').split("-")[:2]
    return event("read", began, began + 1, said={"etag": etag, "job": job, "version": int(version)})


def called(began: float, ended: float, *, body: int = 1, attempt: int = 1) -> list[Event]:
    """A callback that came by then, and its outcome."""
    callback = event("callback", began, ended, 0, said={"body": body, "attempt": attempt})
    return [callback, event("outcome", ended, FOREVER, 0, reply=204)]


REFUSED = {"code": "precondition_failed"}
WRONG_STATE = {"code": "wrong_state", "job": "running"}

#: Of two verbs at once one comes first; what a worker does is somewhere between what others see.
EXPLAINED = {
    "nothing but a create": [created()],
    "one of two changes of the same state": [
        created(),
        event("cancel", 2, 9, if_match=FIRST),
        event("patch", 2, 9, 412, body=2, if_match=FIRST, said=REFUSED),
    ],
    "a cancel that comes too late": [
        created(delay=0), *called(0, 5), event("cancel", 2, 9, 409, said=WRONG_STATE),
    ],
    "a cancel before the claim that nobody sees": [created(delay=0), event("cancel", 2, 9)],
    "a redrive that was called off by a resolve at the same time": [
        created(delay=0),
        event("callback", 0, 3, 0, said={"body": 1, "attempt": 1}), event("outcome", 3, FOREVER, 0, reply=410),
        event("redrive", 5, 9, said={"job": "cancelled", "version": 5}), event("resolve", 5, 9),
    ],
    "a redrive that lifts what is resolved after it looked, and is seen before it is called off": [
        created(delay=0),
        event("callback", 0, 3, 0, said={"body": 1, "attempt": 1}), event("outcome", 3, FOREVER, 0, reply=410),
        event("resolve", 4, 6), event("redrive", 5, 9, lift=True, said={"job": "cancelled", "version": 5}),
        read(7, '"4-pending-d-1"'),
    ],
    "the second of two creates": [
        created(), event("create", 0, 1, body=1, delay=3600, said={"etag": FIRST, "job": "pending", "version": 1}),
    ],
    "a resolve that names what runs": [
        created(delay=0), *called(0, 9), event("resolve", 2, 8, said={"running": True}),
    ],
}  # fmt: skip

#: The mistake that each tells of.
BROKEN = {
    "both changes of the same state are made: If-Match is not compared": [
        created(),
        event("patch", 2, 9, body=2, if_match=FIRST, said={"etag": SECOND, "job": "pending"}),
        event("cancel", 2, 9, if_match=FIRST),
    ],
    "both changes of the same version are made": [
        created(), event("patch", 2, 9, body=2, version=1), event("cancel", 2, 9, version=1),
    ],
    "a cancel answers 200 while the job runs": [
        created(delay=0), *called(0, 5), read(2, THIRD), event("cancel", 4, 6), read(7, FOURTH),
    ],
    "a callback comes after a cancel": [created(delay=0), event("cancel", 2, 3), *called(4, 5)],
    "a callback has a body that was replaced before": [
        created(), event("patch", 2, 3, body=2, delay=0, said={"job": "pending"}), *called(0, 5, body=1),
    ],
    "a callback is early": [created(delay=3600), *called(0, 5)],
    "an attempt is counted twice": [created(delay=0), *called(0, 5, attempt=2)],
    "two creates with one key make two jobs": [created(), created()],
    "another request with a key is answered": [
        created(), event("create", 2, 3, body=2, delay=3600, said={"job": "pending"}),
    ],
    "an ETag names two states": [created(), event("patch", 2, 3, body=2, said={"etag": FIRST})],
    "a state that was seen comes back": [created(), event("run", 2, 3, said={"etag": SECOND}), read(4, FIRST)],
    "a change that was answered is lost": [
        created(), event("run", 2, 3, said={"etag": SECOND}), event("cancel", 4, 5, 409, said=WRONG_STATE),
    ],
    "a resolve leaves the job": [
        created(), event("resolve", 2, 3, said={"cancelled": False}), read(4, FIRST),
    ],
    "a callback begins after a resolve": [
        created(delay=0), event("resolve", 2, 3, said={"cancelled": True}), *called(4, 5),
    ],
    "a resolve does not name what runs": [
        created(delay=0), *called(0, 9), read(1, THIRD), event("resolve", 3, 4), read(5, THIRD),
    ],
    "a create after a resolve": [event("resolve", 0, 1), event("create", 2, 3, 201, body=1, delay=0)],
}  # fmt: skip


@pytest.mark.parametrize("name", EXPLAINED)
def test_what_some_order_explains(name: str) -> None:
    assert explained(EXPLAINED[name])


@pytest.mark.parametrize("name", BROKEN)
def test_what_no_order_explains_is_told(name: str) -> None:
    story = shortest_story(BROKEN[name])

    assert not explained(BROKEN[name])
    assert len(story) <= len(BROKEN[name])


def test_a_story_ends_where_it_is_broken_and_leaves_out_reads_that_say_nothing() -> None:
    broken = [*BROKEN["a cancel answers 200 while the job runs"], event("drop", 20, 21, 409, said={"code": "x"})]
    idle = [read(1.5, FIRST) for _ in range(3)]

    story = shortest_story([*broken, *idle])

    assert not any("drop" in line for line in story)
    assert not any("read" in line for line in story)


def test_what_had_not_ended_by_a_moment_may_or_may_not_have_been() -> None:
    history = [created(), event("cancel", 2, 9), read(3, FIRST)]

    assert explained(history, by=4)
    assert explained(history)
