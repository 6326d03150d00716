"""AuthorizedSender: gives callbacks the access tokens that their receivers ask for, before they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from delayhub.clock import Clock
from tasksapp.delivery.access_token import AccessToken, Grant, NoToken
from tasksapp.delivery.callback import Callback, Target
from tasksapp.delivery.dispatcher import LEASE_MARGIN_SECONDS, Sends
from tasksapp.delivery.outcomes import CallbackResult, GiveUp, Retry, Returned
from tasksapp.delivery.token_keeper import TokenKeeper

#: Targets that are remembered with their tokens; each edit of a biz type makes another.
MOST_TARGETS = 1_000
_REFUSED = 401


class AuthorizedSender:
    """A sender of callbacks, of which those of some biz types carry an access token.

    Neither the token nor the wait for it is part of an attempt. Where there is none, nothing is sent and the job is
    given back. A callback whose token is refused is sent once more, with another one, unless it may be sent only once.

    Args:
        sender: sends the callbacks.
        tokens: keeps the tokens.
        clock: tells the time.
    """

    def __init__(self, sender: Sends, *, tokens: TokenKeeper, clock: Clock) -> None:
        self._sender = sender
        self._tokens = tokens
        self._clock = clock
        #: By the identity of a target: the target, its token, and the target that has it.
        self._targets: dict[int, tuple[Target, AccessToken, Target]] = {}

    def send(self, callback: Callback) -> Coroutine[Any, Any, CallbackResult]:
        """Sends the callback; those without a grant cost nothing more."""
        grant = callback.target.grant
        return self._sender.send(callback) if grant is None else self._authorized(callback, grant)

    async def close(self) -> None:
        """Closes the sender, and what asks for tokens."""
        await self._tokens.close()
        await self._sender.close()

    async def _authorized(self, callback: Callback, grant: Grant) -> CallbackResult:
        try:
            try:
                token = await self._tokens.token(grant)
            except asyncio.CancelledError:
                # Nothing was sent: one that may be sent only once is not lost.
                return CallbackResult(callback, Returned("the worker is stopping"))
            if self._lease_is_short(callback):
                return CallbackResult(callback, Returned("its lease was too short to begin"))
            result = await self._sent(callback, token)
            if not _is_refused(result) or not self._tokens.drop(grant, token):
                return result
            # An answer is an answer to a callback that may be sent at most once.
            if callback.target.at_most_once or self._lease_is_short(callback):
                return result
            return await self._sent(callback, await self._tokens.token(grant))
        except NoToken as error:
            wait_seconds = max(1.0, (error.until_ms - self._clock.now_ms()) / 1000)
            return CallbackResult(callback, Returned(error.reason, after_seconds=wait_seconds, lacks_token=True))

    async def _sent(self, callback: Callback, token: AccessToken) -> CallbackResult:
        result = await self._sender.send(replace(callback, target=self._target(callback.target, token)))
        return result._replace(callback=callback)

    def _target(self, target: Target, token: AccessToken) -> Target:
        """The target with that token: the same one each time, since senders know targets by their identity."""
        known = self._targets.get(id(target))
        if known is not None and known[1] == token:
            return known[2]
        if len(self._targets) >= MOST_TARGETS:
            self._targets.clear()
        made = replace(target, authorization=f"Bearer {token.value}")
        self._targets[id(target)] = target, token, made
        return made

    def _lease_is_short(self, callback: Callback) -> bool:
        """Whether the lease, which was long enough before the wait, does not outlive the callback any more."""
        left_seconds = callback.lease_ends - self._clock.monotonic()
        return left_seconds < callback.target.timeout_seconds + LEASE_MARGIN_SECONDS


def _is_refused(result: CallbackResult) -> bool:
    """Whether the receiver refused the token, by the status alone and not by a word of its own."""
    match result.outcome:
        case Retry(reason=reason) | GiveUp(reason=reason):
            return reason == f"status {_REFUSED}"
    return False
