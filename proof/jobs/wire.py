"""The wire from the product to its database and to Redis: where a crash, a refusal or a lost reply may happen."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, TypeVar
from unittest.mock import patch

import redis
from django.db import OperationalError, connections
from django.db.backends.utils import CursorWrapper

from proof.quick_redis import QuickRedis
from tasksapp.sql.driver.single_statement import SingleStatement

T = TypeVar("T")


class Died(BaseException):
    """The process is gone. What it does while this unwinds, in ``finally``, reaches neither database nor Redis."""


class Trouble(StrEnum):
    """What may happen to one statement, commit or command of a verb."""

    CRASH = "it crashes before"
    CRASH_AFTER = "it crashes after"
    REFUSED = "is refused"
    LOST = "is done, but its reply is lost"
    REDIS_AWAY = "Redis is away"
    DATABASE_AWAY = "the database is away"


#: These last as long as the verb.
_AWAY = (Trouble.REDIS_AWAY, Trouble.DATABASE_AWAY)
#: So many statements, commits and commands most verbs have, at the most.
LONGEST = 16


class Wire:
    """Counts what the product sends, and troubles one of it.

    Args:
        using: the database.
        client: what speaks to Redis, for all clients of the product.
    """

    def __init__(self, using: str, client: QuickRedis) -> None:
        self._using, self._client = using, client
        self._left = 0
        self._trouble: Trouble | None = None
        self._is_open = False
        self._is_dead = False
        #: The place of the trouble of the verb under way, '' where it has not come: ``sql``, ``commit`` or ``redis``.
        self.happened = ""
        self.sent = 0

    @contextmanager
    def under(self, trouble: Trouble | None, chance: random.Random) -> Iterator[None]:
        """Inside, the product has this trouble at one of its next statements, or at none."""
        # Most verbs send few: the first are as likely as all others.
        self._left = chance.choice([1, 2, 3, 4, chance.randrange(1, LONGEST)])
        self._trouble, self._is_open, self._is_dead, self.happened = trouble, True, False, ""
        try:
            yield
        finally:
            self._is_open = False

    @contextmanager
    def tapped(self) -> Iterator[None]:
        """Inside, it has its hands on what is sent."""
        connection: Any = connections[self._using]
        connection.ensure_connection()
        commit: Callable[[], None] = connection._commit
        send = redis.client.Pipeline.execute
        run_past_cursor = SingleStatement.rows

        # No wrapper of the connection: where there is one, statements do not go past Django's cursor (decision 114).
        def run_statement(_: CursorWrapper, sql: Any, params: Any, many: bool, executor: Callable[..., Any]) -> Any:
            # A transaction whose beginning is not heard of has not begun.
            begins = isinstance(sql, str) and sql.startswith("BEGIN")
            return self._send("sql", (lambda: None) if begins and self._is_next else lambda: executor(sql, params))

        def run_single(statement: SingleStatement, on: Any, values: Any) -> Any:
            return self._send("sql", lambda: run_past_cursor(statement, on, values))

        def run_command(_: redis.Redis, *args: Any, **options: Any) -> Any:
            return self._send("redis", lambda: self._client.execute_command(*args, **options))

        def run_pipeline(pipeline: Any, *args: Any, **options: Any) -> Any:
            self._client.send_what_waits()
            return self._send("redis", lambda: send(pipeline, *args, **options))

        with (
            patch.object(CursorWrapper, "_execute_with_wrappers", run_statement),
            patch.object(SingleStatement, "rows", run_single),
            patch.object(connection, "_commit", lambda: self._send("commit", commit)),
            patch.object(redis.Redis, "execute_command", run_command),
            patch.object(redis.client.Pipeline, "execute", run_pipeline),
        ):
            yield

    @property
    def _is_next(self) -> bool:
        """Whether the trouble comes now."""
        return self._is_open and self._left == 1 and self._trouble not in (None, *_AWAY)

    def _send(self, place: str, perform: Callable[[], T]) -> T:
        if not self._is_open:
            return perform()
        self.sent += 1
        if self._is_dead:
            raise Died
        if self._trouble in _AWAY:
            if (place == "redis") is (self._trouble is Trouble.REDIS_AWAY):
                self.happened = place
                raise _error(place)
            return perform()
        self._left -= 1
        if self._trouble is None or self._left:
            return perform()
        self.happened = place
        match self._trouble:
            case Trouble.CRASH:
                self._die()
            case Trouble.REFUSED:
                raise _error(place)
        done = perform()
        if self._trouble is Trouble.CRASH_AFTER:
            self._die()
        if place == "sql" and connections[self._using].in_atomic_block:
            connections[self._using].needs_rollback = True
        del done
        raise _error(place)

    def _die(self) -> None:
        self._is_dead = True
        # As the database does it when a process is gone; Django would commit by going back to autocommit.
        connections[self._using].connection.rollback()
        raise Died


def _error(place: str) -> Exception:
    if place == "redis":
        return redis.ConnectionError("the wire is cut")
    return OperationalError("the wire is cut")
