"""The threads: a database that hangs or is away ends no watching, and a process watches once."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest
from django.db import InternalError, OperationalError

from tasksapp.alerts import thread
from tasksapp.alerts.thread import WatchThreads
from tasksapp.alerts.watch import Turn
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


class Watched:
    """A watch whose turns do what the test wants."""

    using = "default"

    def __init__(self) -> None:
        self.turn: Any = lambda: Turn(held=True)
        self.turns = self.away = self.left = 0

    def run_once(self) -> Turn:
        self.turns += 1
        turn: Turn = self.turn()
        return turn

    def note_away(self) -> bool:
        self.away += 1
        return True

    def leave(self) -> None:
        self.left += 1


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.mark.parametrize(
    ("kind", "cause"),
    [(OperationalError, psycopg.OperationalError()), (InternalError, psycopg.errors.ReadOnlySqlTransaction())],
)
def test_a_database_that_is_away_is_noted(watched: Watched, kind: type[Exception], cause: Exception) -> None:
    def fail() -> Turn:
        raise kind("no connection, or one to a standby") from cause

    watched.turn = fail

    assert not WatchThreads(watched).run_once()  # type: ignore[arg-type]  # it does what the test wants
    assert watched.away == 1


def test_a_database_that_hangs_is_noted_and_asked_once(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread, "PATIENCE_SECONDS", {})
    monkeypatch.setattr(thread, "USUAL_PATIENCE_SECONDS", 0.05)
    goes_on = threading.Event()

    def hang() -> Turn:
        assert goes_on.wait(60)
        return Turn(held=True)

    watched.turn = hang
    threads = WatchThreads(watched)  # type: ignore[arg-type]  # it does what the test wants

    assert [threads.run_once(), threads.run_once()] == [False, False]
    assert (watched.turns, watched.away) == (1, 2)

    goes_on.set()
    wait_until(threads.run_once)
    watched.turn = lambda: Turn(held=False)  # which closes its connection
    assert threads.run_once()


def test_a_failure_of_one_turn_does_not_end_the_next(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread, "LOOK_SECONDS", 0.01)

    def fail() -> Turn:
        raise RuntimeError("a fault of ours")

    watched.turn = fail
    threads = WatchThreads(watched)  # type: ignore[arg-type]  # it does what the test wants
    threads.start()
    wait_until(lambda: watched.turns > 1)
    watched.turn = lambda: Turn(held=True)
    wait_until(lambda: threads._held)

    threads.stop()

    wait_until(lambda: watched.left == 1)


def test_a_mail_server_that_hangs_is_not_taken_for_a_database_that_does(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread, "PATIENCE_SECONDS", {})
    monkeypatch.setattr(thread, "USUAL_PATIENCE_SECONDS", 1.0)
    sends, goes_on = threading.Event(), threading.Event()

    def send(*, using: str) -> int:
        sends.set()
        goes_on.wait(60)
        return 0

    watched.turn = lambda: Turn(held=True, has_messages=True)
    monkeypatch.setattr(thread.outbox, "send_due", send)
    threads = WatchThreads(watched)  # type: ignore[arg-type]  # it does what the test wants
    threads.start()
    assert sends.wait(60)

    answered = threads.run_once()

    goes_on.set()
    threads.stop()
    assert answered
    assert watched.away == 0


def test_the_sender_makes_no_connection_while_nothing_is_to_be_sent(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    due, sends = [False, False, True], []
    monkeypatch.setattr(thread, "LOOK_SECONDS", 0.01)
    watched.turn = lambda: Turn(held=True, has_messages=watched.turns <= 3 and due[watched.turns - 1])
    monkeypatch.setattr(thread.outbox, "send_due", lambda *, using: sends.append(watched.turns))
    threads = WatchThreads(watched)  # type: ignore[arg-type]  # it does what the test wants

    threads.start()

    wait_until(lambda: watched.turns >= 6)
    threads.stop()
    assert len(sends) == 1
    assert sends[0] >= 3


def test_a_process_watches_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[WatchThreads] = []
    monkeypatch.setattr(WatchThreads, "start", lambda self: started.append(self))  # noqa: PLW0108  append would be no method

    thread.watch()
    thread.watch()
    thread.unwatch()
    thread.unwatch()

    assert len(started) == 1
