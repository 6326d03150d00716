"""``celery -A app delayhub redrive --all`` brings back all that is dead, once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest
from click.testing import Result

from delayhub.celery_support import queue_verbs
from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.engine.unique import UniqueKey, offer

DEAD = 1_100  # more than one call of the engine redrives
YEAR_2096_MS = 4_000_000_000_000


def bury_all(queue: DelayQueue) -> None:
    """What a worker does that can read none of the messages."""
    while found := queue.claim(100).entries:
        queue.bury([queue.lease(entry.id, entry.token) for entry in found], reason="unreadable")


def test_all_that_is_dead_is_redriven(run: Callable[..., Result], queue: DelayQueue) -> None:
    queue.schedule([Entry(f"t{number}", payload=b"?") for number in range(DEAD)])
    bury_all(queue)

    assert json.loads(run("redrive", "--all", "--json").output) == {"redriven": DEAD, "left": 0}
    assert queue.count() == Counts(0, DEAD, 0, 0)


def test_what_cannot_come_back_is_passed_over_and_counted(run: Callable[..., Result], queue: DelayQueue) -> None:
    for name in ("old", "new"):  # more than one page of dead ones whose keys live ones have by now
        for number in range(DEAD):
            offer(queue, Entry(f"{name}{number}", 0 if name == "old" else YEAR_2096_MS), UniqueKey(key=f"{number}"))
        bury_all(queue)
        queue.schedule([Entry(f"after {name}", payload=b"?")])
    bury_all(queue)

    assert json.loads(run("redrive", "--all", "--json").output) == {"redriven": 2, "left": DEAD}
    assert queue.count() == Counts(DEAD, 2, 0, DEAD)


def test_what_dies_again_at_once_is_not_redriven_for_ever(
    run: Callable[..., Result], queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_bury(queue: DelayQueue, ids: Sequence[str]) -> int:
        found = redrive(queue, ids)
        bury_all(queue)
        return found

    queue.schedule([Entry(f"t{number}", payload=b"?") for number in range(DEAD)])
    bury_all(queue)
    redrive = queue_verbs.redrive
    monkeypatch.setattr(queue_verbs, "redrive", and_bury)

    assert run("redrive", "--all").exit_code == 0
    assert queue.count() == Counts(0, 0, 0, DEAD)


def test_ids_and_all_are_not_given_together(run: Callable[..., Result]) -> None:
    result = run("redrive", "--all", "t1")

    assert (result.exit_code, "give either ids or --all" in result.output) == (2, True)
