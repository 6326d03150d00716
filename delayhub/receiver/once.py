"""``once``: a function that is run once for each job, however often its callback comes."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import update_wrapper
from typing import Any, Generic, Protocol, TypeVar, cast, overload

from delayhub.errors import BadCallback
from delayhub.receiver.answer import TESTED, Answer
from delayhub.receiver.callback import ReceivedCallback
from delayhub.receiver.verifier import Headers, Verifier

Work = TypeVar("Work")
Given_co = TypeVar("Given_co", covariant=True)

Handler = Callable[[ReceivedCallback, Work], Answer | None]
AsyncHandler = Callable[[ReceivedCallback, Work], Awaitable[Answer | None]]


class Inbox(Protocol[Given_co]):
    """Where the keys of callbacks are kept: in the database that the work changes."""

    def take(self, key: str, work: Callable[[Given_co], Answer]) -> Answer:
        """The answer of the work, done in the transaction that keeps the key; or that to a repeated callback."""


class AsyncInbox(Protocol[Given_co]):
    """The same for asynchronous programs."""

    async def take(self, key: str, work: Callable[[Given_co], Awaitable[Answer]]) -> Answer:
        """The answer of the work, done in the transaction that keeps the key; or that to a repeated callback."""


class _Hook:
    """What a decorated function is: its handler, what checks requests, and where keys are kept."""

    def __init__(self, handler: Callable[..., Any], *, verifier: Verifier, inbox: Any, count_redrives: bool) -> None:
        self._handler = handler
        self._verifier = verifier
        self._inbox = inbox
        self._count_redrives = count_redrives
        update_wrapper(cast("Any", self), handler)  # its subclasses are called

    def _callback(self, headers: Headers, body: bytes) -> ReceivedCallback | Answer:
        """The callback that a request is; the answer to one that is none, or that asks for no work."""
        try:
            callback = self._verifier.verify(headers, body)
        except BadCallback as bad:
            return refused(bad)
        return TESTED if callback.is_test else callback


class Hook(_Hook, Generic[Work]):
    """Gives the answer to a request: of the function, which is run in one transaction with the inbox's row."""

    _handler: Handler[Work]
    _inbox: Inbox[Work]

    def __call__(self, headers: Headers, body: bytes) -> Answer:
        """The answer to a request; the work is committed by then, or rolled back.

        Raises what the function raises: let your web server make a 500 of it.
        """
        callback = self._callback(headers, body)
        if isinstance(callback, Answer):
            return callback
        key = callback.key(count_redrives=self._count_redrives)
        return self._inbox.take(key, lambda work: self._handler(callback, work) or Answer())


class AsyncHook(_Hook, Generic[Work]):
    """The same for an asynchronous function."""

    _handler: AsyncHandler[Work]
    _inbox: AsyncInbox[Work]

    async def __call__(self, headers: Headers, body: bytes) -> Answer:
        """As :meth:`Hook.__call__`."""
        callback = self._callback(headers, body)
        if isinstance(callback, Answer):
            return callback

        async def work(work: Work) -> Answer:
            return await self._handler(callback, work) or Answer()

        return await self._inbox.take(callback.key(count_redrives=self._count_redrives), work)


class Once(Protocol[Work]):
    """What ``once`` gives back for an inbox: a decorator."""

    def __call__(self, handler: Handler[Work]) -> Hook[Work]: ...


class AsyncOnce(Protocol[Work]):
    """What ``once`` gives back for an asynchronous inbox: a decorator."""

    def __call__(self, handler: AsyncHandler[Work]) -> AsyncHook[Work]: ...


@overload
def once(verifier: Verifier, inbox: Inbox[Work], *, count_redrives: bool = True) -> Once[Work]: ...


@overload
def once(verifier: Verifier, inbox: AsyncInbox[Work], *, count_redrives: bool = True) -> AsyncOnce[Work]: ...


def once(verifier: Verifier, inbox: Any, *, count_redrives: bool = True) -> Any:
    """A decorator for the function that does the work of a callback, in one transaction with the inbox.

    The function gets the callback and what the inbox works with (a connection, a session), and gives back an
    :class:`Answer`, or None for 204. It must leave the transaction open. After an answer that DelayHub does not take
    for success, all is rolled back, so that the next attempt does it. A repeated callback is answered like the first
    one without running the function, and one that is under way elsewhere with 409.

    What is decorated takes the headers and the body of a request, and gives back the answer.

    Args:
        verifier: checks the signature.
        inbox: such as ``delayhub.receiver.dbapi.ConnectionInbox``; an asynchronous one needs an ``async def``.
        count_redrives: whether a job that a person or a program redrives is worked on once more.

    Raises:
        TypeError: an ``async def`` has a synchronous inbox, or the other way round.
    """
    is_async = inspect.iscoroutinefunction(inbox.take)

    def decorate(handler: Any) -> Any:
        if inspect.iscoroutinefunction(handler) is not is_async:
            wanted = "an async def" if is_async else "a plain def"
            raise TypeError(f"{type(inbox).__name__} needs {wanted}, got {handler!r}")
        kind = AsyncHook if is_async else Hook
        return kind(handler, verifier=verifier, inbox=inbox, count_redrives=count_redrives)

    return decorate


def refused(bad: BadCallback) -> Answer:
    """The answer to a request that is no callback."""
    return Answer(401, {"Content-Type": "text/plain"}, str(bad).encode())
