"""Views that receive callbacks: ``verified`` checks the signature, ``once`` runs the view once for each job."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import wraps
from typing import Any

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from delayhub.clock import SystemClock
from delayhub.errors import BadCallback
from delayhub.receiver.answer import ACTION, IN_FLIGHT, TESTED, Answer, is_taken, known_action, repeated
from delayhub.receiver.callback import ReceivedCallback
from delayhub.receiver.inbox_table import FIND, INSERT, NOTE, PRUNE, WAIT_ON_POSTGRESQL, is_busy, oldest_kept
from delayhub.receiver.once import refused
from delayhub.receiver.verifier import Verifier

View = Callable[..., HttpResponseBase]

_clock = SystemClock()


def verified(verifier: Verifier) -> Callable[[View], View]:
    """A decorator for a view that gets only callbacks with a right signature; others are answered with 401.

    The view finds the callback in ``request.delayhub_callback``. Its request needs no CSRF token.
    """

    return _receiving(verifier, lambda _, view: view(), why="")


def once(
    verifier: Verifier,
    *,
    using: str = DEFAULT_DB_ALIAS,
    count_redrives: bool = True,
    wait: timedelta = timedelta(seconds=1),
) -> Callable[[View], View]:
    """A decorator for a view that does the work of a callback, in one transaction with the inbox.

    The transaction is the decorator's own, also in a project with ``ATOMIC_REQUESTS``: it is committed before the
    answer leaves. After an answer that DelayHub does not take for success, and after an exception, all is rolled back,
    so that the next attempt does it. A repeated callback is answered like the first one without running the view, and
    one that is under way elsewhere with 409. Stands above all other decorators; with REST framework around
    ``as_view()``.

    Args:
        verifier: checks the signature.
        using: the database of the work and of the inbox.
        count_redrives: whether a job that a person or a program redrives is worked on once more.
        wait: how long a callback waits for another of its job that is under way, before it is answered with 409. On
            SQLite it waits for any transaction that writes.

    Raises:
        TypeError: the view is an ``async def``, which cannot have a transaction of Django's.
    """
    wait_ms = int(wait.total_seconds() * 1000)

    def answer(callback: ReceivedCallback, work: Callable[[], HttpResponseBase]) -> HttpResponseBase:
        if callback.is_test:
            return _response(TESTED)
        return _take(callback.key(count_redrives=count_redrives), work, using=using, wait_ms=wait_ms)

    decorate = _receiving(verifier, answer, why=": Django's transactions are synchronous")
    return lambda view: transaction.non_atomic_requests(using=using)(decorate(view))


def prune(*, keep: timedelta, using: str = DEFAULT_DB_ALIAS) -> int:
    """Forgets callbacks that came longer ago; returns how many.

    Args:
        keep: at least the biz types' ``max_age`` (a week, where there is none) and retention together.
        using: the database of the inbox.
    """
    before, pruned = oldest_kept(_clock.now_ms(), keep=keep), 0
    with connections[using].cursor() as cursor:
        while True:
            cursor.execute(PRUNE, [before])
            if not cursor.rowcount:
                return pruned
            pruned += cursor.rowcount


def _receiving(
    verifier: Verifier,
    answer: Callable[[ReceivedCallback, Callable[[], HttpResponseBase]], HttpResponseBase],
    *,
    why: str,
) -> Callable[[View], View]:
    """A decorator for views, whose callbacks are answered by that, with the view as the work."""

    def decorate(view: View) -> View:
        if inspect.iscoroutinefunction(view):
            raise TypeError(f"the view must be a plain def{why}, got {view!r}")

        @wraps(view)
        def receive(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                callback = verifier.verify(request.headers, request.body)
            except BadCallback as bad:
                return _response(refused(bad))
            request.delayhub_callback = callback  # type: ignore[attr-defined]  # where views look for it
            return answer(callback, lambda: view(request, *args, **kwargs))

        receive.csrf_exempt = True  # type: ignore[attr-defined]  # as csrf_exempt() does
        return receive

    return decorate


def _take(key: str, work: Callable[[], HttpResponseBase], *, using: str, wait_ms: int) -> HttpResponseBase:
    is_taken_here = False
    try:
        # Durable: where a transaction is open already, its owner could roll back what was answered with 200.
        with _short_waits(using, wait_ms) as wait_as_usual, transaction.atomic(using=using, durable=True):
            known = _insert(key, using=using, wait_ms=wait_ms)
            if known is not None:
                return _response(known)
            is_taken_here = True
            wait_as_usual()
            response = work()
            if response.streaming:
                raise TypeError("a view that is run once cannot stream: what it does then has no transaction")
            action = known_action(response.headers.get(ACTION, ""))
            if is_taken(response.status_code, action):
                _keep(key, action, using=using)
            else:
                transaction.set_rollback(True, using=using)
            return response
    except DatabaseError as error:
        if is_taken_here or not is_busy(error):
            raise
        return _response(IN_FLIGHT)


def _insert(key: str, *, using: str, wait_ms: int) -> Answer | None:
    """Takes the key; the answer, where another transaction has."""
    connection = connections[using]
    if connection.vendor not in {"postgresql", "sqlite"}:
        raise TypeError(f"the inbox works on PostgreSQL and SQLite, got {connection.vendor}")
    with connection.cursor() as cursor:
        before = None
        if connection.vendor == "postgresql":
            cursor.execute(WAIT_ON_POSTGRESQL, [f"{wait_ms}ms"])
            before = cursor.fetchone()[0]
        cursor.execute(INSERT, [key, _clock.now_ms() // 1000])
        if cursor.rowcount == 1:
            if before is not None:
                cursor.execute(WAIT_ON_POSTGRESQL, [before])
            return None
        cursor.execute(FIND, [key])
        return repeated(cursor.fetchone()[0])


def _keep(key: str, action: str, *, using: str) -> None:
    """Makes sure that the transaction can be committed, with the inbox's row in it.

    An error that the view caught has spoilt it: PostgreSQL's COMMIT would then roll back and report nothing.
    """
    with connections[using].cursor() as cursor:
        if action:
            cursor.execute(NOTE, [action, key])
        cursor.execute(FIND, [key])
        if cursor.fetchone() is None:
            raise transaction.TransactionManagementError("the view has rolled back the transaction it runs in")


@contextmanager
def _short_waits(using: str, wait_ms: int) -> Iterator[Callable[[], None]]:
    """Lets SQLite wait so long for a lock; gives what lets it wait as before. PostgreSQL has it in the transaction."""
    connection = connections[using]
    if connection.vendor != "sqlite":
        yield lambda: None
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        before = int(cursor.fetchone()[0])

    def wait(milliseconds: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {milliseconds}")

    wait(wait_ms)
    try:
        yield lambda: wait(before)
    finally:
        wait(before)


def _response(answer: Answer) -> HttpResponse:
    return HttpResponse(answer.body, status=answer.status, headers=dict(answer.headers))
