"""What holds of every inbox, on SQLite or on PostgreSQL: wherever the tests run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
import pytest

from delayhub.receiver import Answer
from tests.postgres import postgres_url
from tests.signed_callbacks import fresh_id

WAIT = timedelta(milliseconds=200)


class Kit(Protocol):
    """An inbox, and what is done in its transactions. ``tx`` is what its works get."""

    def take(self, key: str, work: Callable[[Any], Answer]) -> Answer: ...

    def run(self, tx: Any, statement: str) -> Any:
        """The first value of a result; None where there is none."""

    def commit(self, tx: Any) -> None: ...

    def rollback(self, tx: Any) -> None: ...

    def effects(self) -> int:
        """How many effects are committed."""

    def prune(self, keep: timedelta) -> int: ...


@contextmanager
def fresh_postgres() -> Iterator[str]:
    """The address of an empty database on the tests' server."""
    name = f"inbox_{uuid4().hex}"
    url = urlsplit(postgres_url())
    with psycopg.connect(url._replace(path="/postgres").geturl(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield url._replace(path=f"/{name}").geturl()
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def does(kit: Kit, answer: Answer | None = None) -> Callable[[Any], Answer]:
    """A work with one effect."""

    def work(tx: Any) -> Answer:
        kit.run(tx, "INSERT INTO effect (n) VALUES (1)")
        return answer or Answer()

    return work


def must_not_run(tx: Any) -> Answer:
    raise AssertionError("the work was done already")


class InboxRules:
    """The rules; a subclass has the fixture ``kit``."""

    def test_a_callback_that_comes_twice_has_one_effect(self, kit: Kit) -> None:
        key = fresh_id()

        first, second = kit.take(key, does(kit)), kit.take(key, must_not_run)

        assert (first.status, second.status, second.headers) == (204, 200, {"DelayHub-Duplicate": "1"})
        assert kit.effects() == 1

    @pytest.mark.parametrize(
        "answer", [Answer(500), Answer(302), Answer(404), Answer(200, {"delayhub-action": "retry"})]
    )
    def test_after_an_answer_that_is_no_success_the_next_attempt_does_it(self, kit: Kit, answer: Answer) -> None:
        key = fresh_id()

        assert kit.take(key, does(kit, answer)) is answer
        assert kit.effects() == 0
        assert kit.take(key, does(kit)).status == 204
        assert kit.effects() == 1

    def test_after_an_exception_the_next_attempt_does_it(self, kit: Kit) -> None:
        key = fresh_id()

        def fails(tx: Any) -> Answer:
            does(kit)(tx)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            kit.take(key, fails)
        assert kit.take(key, does(kit)).status == 204
        assert kit.effects() == 1

    def test_what_the_answer_asked_for_is_repeated_in_case_it_was_lost(self, kit: Kit) -> None:
        key = fresh_id()
        kit.take(key, does(kit, Answer(200, {"DelayHub-Action": "Cancel-Others"})))

        assert kit.take(key, must_not_run).headers["DelayHub-Action"] == "cancel-others"

    def test_a_callback_that_is_under_way_is_answered_with_409(self, kit: Kit) -> None:
        key, begun, end = fresh_id(), threading.Event(), threading.Event()

        def slow(tx: Any) -> Answer:
            begun.set()
            assert end.wait(20)
            return does(kit)(tx)

        with ThreadPoolExecutor(1) as other:
            running = other.submit(kit.take, key, slow)
            assert begun.wait(20)
            meanwhile = kit.take(key, must_not_run)
            end.set()
            assert running.result(20).status == 204

        assert (meanwhile.status, meanwhile.headers) == (409, {"Retry-After": "1"})
        assert kit.take(key, must_not_run).status == 200
        assert kit.effects() == 1

    def test_an_error_that_the_work_caught_never_ends_in_a_success_without_an_effect(self, kit: Kit) -> None:
        # PostgreSQL's COMMIT of a transaction with an error rolls back, and reports nothing.
        key = fresh_id()

        def careless(tx: Any) -> Answer:
            does(kit)(tx)
            with pytest.raises(Exception, match="no_such_table"):
                kit.run(tx, "SELECT n FROM no_such_table")
            return Answer()

        try:
            kit.take(key, careless)
        except Exception:
            assert kit.effects() == 0
            assert kit.take(key, does(kit)).status == 204
        assert kit.effects() == 1

    @pytest.mark.parametrize("end", ["commit", "rollback"])
    def test_a_work_that_ends_the_transaction_itself_is_found_out(self, kit: Kit, end: str) -> None:
        def oversteps(tx: Any) -> Answer:
            does(kit)(tx)
            getattr(kit, end)(tx)
            return Answer()

        with pytest.raises(Exception):  # noqa: B017  each database has an error of its own for it
            kit.take(fresh_id(), oversteps)

    def test_the_work_waits_for_locks_as_long_as_before(self, kit: Kit) -> None:
        seen = []

        def look(tx: Any) -> Answer:
            seen.append(str(kit.run(tx, self.lock_wait)))
            return Answer()

        kit.take(fresh_id(), look)

        assert seen == [self.usual_wait]

    def test_what_is_old_is_forgotten(self, kit: Kit) -> None:
        key = fresh_id()
        kit.take(key, does(kit))

        assert kit.prune(timedelta(hours=1)) == 0
        kit.take(fresh_id(), lambda tx: [kit.run(tx, "UPDATE delayhub_inbox SET received_at = 1"), Answer()][1])
        assert kit.prune(timedelta(hours=1)) == 2
        assert kit.take(key, does(kit)).status == 204

    lock_wait = "SHOW lock_timeout"
    usual_wait = "0"
