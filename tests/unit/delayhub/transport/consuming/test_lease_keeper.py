"""The thread that keeps leases: when it renews, when it sends acknowledgements, and what it reports."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
import redis

from delayhub.transport.consuming import lease_keeper
from delayhub.transport.consuming.lease_keeper import LeaseKeeper, start_thread
from tests.waiting import wait_until

CLIENT = cast("redis.Redis", object())
LAST_RENEWAL = 4


class Book:
    """Counts what the keeper asks of it."""

    def __init__(self, *, fails: bool = False, holds_leases: bool = True) -> None:
        self.kept = self.flushed = 0
        self.holds_leases = holds_leases
        self.fails = fails

    def keep(self, client: redis.Redis) -> None:
        assert client is CLIENT
        self.kept += 1
        if self.kept == LAST_RENEWAL:
            threading.Event().wait()  # a keeper has no end, and other tests are to go on without this one
        if self.fails:
            raise OSError("away")

    def flush(self, client: redis.Redis) -> None:
        assert client is CLIENT
        self.flushed += 1


def keeper_of(book: Book, *, lease_seconds: float) -> LeaseKeeper:
    return LeaseKeeper(book, CLIENT, lease_seconds=lease_seconds)


def test_leases_are_renewed_again_and_again_also_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    book = Book(fails=True)

    keeper_of(book, lease_seconds=0.03).start()

    wait_until(lambda: book.kept == LAST_RENEWAL)
    assert "could not renew leases, trying again: away" in caplog.text


def test_acknowledgements_are_sent_long_before_the_next_renewal() -> None:
    book = Book()
    keeper = keeper_of(book, lease_seconds=3000)
    keeper.start()

    for _ in range(2):
        before = book.flushed
        keeper.wake()
        wait_until(lambda before=before: book.flushed > before)

    assert book.kept == 0


def test_one_keeper_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    monkeypatch.setattr(lease_keeper, "start_thread", started.append)
    keeper = keeper_of(Book(), lease_seconds=30)

    keeper.start()
    keeper.start()

    assert len(started) == 1


@pytest.mark.parametrize(
    ("slept", "holds_leases", "warns"),
    [
        (2.1, True, True),
        # in time
        (1.9, True, False),
        # there was nothing to renew
        (2.1, False, False),
    ],
)
def test_a_keeper_that_could_not_run_for_longer_than_a_lease_says_so(
    slept: float, holds_leases: bool, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    book = Book(holds_leases=holds_leases)

    keeper_of(book, lease_seconds=2).renew(slept=slept)

    assert ("longer than lease_seconds (2)" in caplog.text) is warns
    assert book.kept == 1


@pytest.mark.parametrize("environment", ["default", "gevent"])
def test_the_thread_is_one_of_the_operating_system(environment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "detect_environment", lambda: environment)
    found: list[int] = []

    start_thread(lambda: found.append(threading.get_native_id()))

    wait_until(lambda: bool(found))
    assert found != [threading.get_native_id()]


def test_connections_that_may_be_dead_are_made_again_by_the_keeper(redis_client: redis.Redis) -> None:
    redis_client.ping()
    (line,) = redis_client.connection_pool._available_connections
    keeper = LeaseKeeper(DeadEnd(), redis_client, lease_seconds=30)
    keeper.distrusts = True

    keeper.renew(slept=0)

    assert line._sock is None
    assert not keeper.distrusts


class DeadEnd(Book):
    """A book that sends nothing."""

    def keep(self, client: redis.Redis) -> None:
        del client
