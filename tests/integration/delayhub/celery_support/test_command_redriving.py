"""``celery -A app delayhub redrive --all`` brings back all that is dead, once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from delayhub.celery_support.control import Control
from delayhub.engine import Counts, DelayQueue, Entry

DEAD = 1_100  # more than one call of the engine redrives


def bury_all(queue: DelayQueue) -> None:
    """What a worker does that can read none of the messages."""
    while found := queue.claim(100).entries:
        queue.bury([queue.lease(entry.id, entry.token) for entry in found], reason="unreadable")


def test_all_that_is_dead_is_redriven(run: Callable[..., Result], queue: DelayQueue) -> None:
    queue.schedule([Entry(f"t{number}", payload=b"?") for number in range(DEAD)])
    bury_all(queue)

    assert json.loads(run("redrive", "--all", "--json").output) == {"redriven": DEAD}
    assert queue.count() == Counts(0, DEAD, 0, 0)


def test_what_dies_again_at_once_is_not_redriven_for_ever(
    run: Callable[..., Result], queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_bury(control: Control, *given: Any, **options: Any) -> int:
        found = redrive(control, *given, **options)
        bury_all(queue)
        return found

    queue.schedule([Entry(f"t{number}", payload=b"?") for number in range(DEAD)])
    bury_all(queue)
    redrive = Control.redrive
    monkeypatch.setattr(Control, "redrive", and_bury)

    assert run("redrive", "--all").exit_code == 0
    assert queue.count() == Counts(0, 0, 0, DEAD)


def test_ids_and_all_are_not_given_together(run: Callable[..., Result]) -> None:
    result = run("redrive", "--all", "t1")

    assert (result.exit_code, "give either ids or --all" in result.output) == (2, True)
