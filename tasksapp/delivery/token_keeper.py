"""TokenKeeper: the access tokens of one process. Each is asked for once, however many callbacks want it.

A token is renewed in the background, at a random moment of the last third of its life, while callbacks go on with the
one that there is. Processes share their tokens; of those that want a new one at the same time, one asks.
"""

from __future__ import annotations

import asyncio
import random
from base64 import b64encode
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote_plus, urlencode, urlsplit

import aiohttp

from delayhub.clock import Clock
from tasksapp.delivery.access_token import LACK, LONGEST_ANSWER, AccessToken, Grant, NoToken, read_token
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.callback import Target
from tasksapp.delivery.connections import Answer, Connections
from tasksapp.delivery.route import BadHeader, Route
from tasksapp.delivery.sender import USER_AGENT, failure_kind

#: How long a token server has for its whole answer.
ANSWER_SECONDS = 10.0
#: For how long one process may ask while the others wait for what it finds, and how often they look.
LOCK_SECONDS, LOOK_SECONDS = 15.0, 0.2
#: The part of a token's life after which it is renewed, and how long a renewal that failed is not tried again.
RENEW_FROM, RENEW_TO, RENEW_AGAIN_MS = 0.7, 0.9, 10_000
#: A token that took the place of a refused one is not replaced sooner: the receiver refuses more than the token.
FRESH_MS = 60_000
#: Grants that are remembered; each edit of a biz type may make another.
MOST_GRANTS = 1_000

_chance = random.Random()  # noqa: S311  spreads renewals, guards nothing


class TokenShare(Protocol):
    """What processes leave for each other. Its calls may wait for a server: they are made in threads."""

    def look(self, grant: Grant) -> AccessToken | NoToken | None:
        """What another process has found, be it that there is no token."""

    def lock(self, grant: Grant, *, seconds: float) -> bool:
        """Whether this process asks the token server; True too where processes cannot agree on it."""

    def leave(self, grant: Grant, found: AccessToken | NoToken | None) -> None:
        """Leaves what was found, if anything, and lets others ask."""


@dataclass(slots=True)
class _Held:
    """What there is for a grant.

    Args:
        grant: the grant.
        token: the token that callbacks carry.
        renew_ms: when it is renewed.
        refused_ms: tokens that were made until then do not count, since the receiver refused the last of them.
        failed: why there was none lately.
        flight: looks for another one.
    """

    grant: Grant
    token: AccessToken | None = None
    renew_ms: int = 0
    refused_ms: int = 0
    failed: NoToken | None = None
    flight: asyncio.Task[AccessToken] | None = None


class TokenKeeper:
    """Keeps access tokens. Made, used and closed inside one event loop.

    Args:
        guard: says which addresses may be connected to.
        clock: tells the time, the same in all processes.
        share: what processes leave for each other.
        hold_seconds: for how long nobody asks again after a token server gave no token.
        insists: whether it asks all the same: for a person who tries whether it does.
    """

    def __init__(
        self, *, guard: AddressGuard, clock: Clock, share: TokenShare, hold_seconds: float, insists: bool = False
    ) -> None:
        self._connections = Connections(guard, keep=False, answer_bytes=LONGEST_ANSWER + 1)
        self._clock = clock
        self._share = share
        self._hold_ms = round(hold_seconds * 1000)
        self._insists = insists
        self._by_grant: dict[Grant, _Held] = {}

    async def close(self) -> None:
        """Closes its connections; what it still asks for is left."""
        flights = [held.flight for held in self._by_grant.values() if held.flight is not None]
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        await self._connections.close()

    async def token(self, grant: Grant) -> AccessToken:
        """A token that can be sent now. Raises NoToken."""
        held, now_ms = self._of(grant), self._clock.now_ms()
        if held.token is not None and now_ms < held.token.ends_ms:
            if now_ms >= held.renew_ms and held.flight is None:
                self._take_off(held)
            return held.token
        if held.failed is not None and now_ms < held.failed.until_ms:
            # A new one each time: an exception keeps the frames of all who raised it, with what they were to send.
            raise NoToken(held.failed.reason, until_ms=held.failed.until_ms)
        # The others go on waiting for it where this callback is cancelled.
        return await asyncio.shield(held.flight or self._take_off(held))

    def drop(self, grant: Grant, refused: AccessToken) -> bool:
        """Forgets a token that the receiver has refused; whether there can be another one.

        There is none where this was another one already, and is still fresh.
        """
        held = self._of(grant)
        if refused.made_ms <= held.refused_ms or (held.token is not None and held.token.made_ms > refused.made_ms):
            return True
        if refused.is_second and self._clock.now_ms() < refused.made_ms + FRESH_MS:
            return False
        held.refused_ms, held.token = refused.made_ms, None
        return True

    def _of(self, grant: Grant) -> _Held:
        # What was got with another secret, scope or address is not used. It stays for callbacks that were claimed
        # before that was changed: they may come in turns with later ones.
        held = self._by_grant.get(grant)
        if held is None:
            if len(self._by_grant) >= MOST_GRANTS:
                self._by_grant = {known: one for known, one in self._by_grant.items() if one.flight is not None}
            held = self._by_grant[grant] = _Held(grant)
        return held

    def _take_off(self, held: _Held) -> asyncio.Task[AccessToken]:
        held.flight = flight = asyncio.get_running_loop().create_task(self._fly(held))
        flight.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return flight

    async def _fly(self, held: _Held) -> AccessToken:
        """Another token than the one that there is, from another process or from the token server. Raises NoToken."""
        try:
            held.token = found = await self._found(held)
        except NoToken as error:
            now_ms = self._clock.now_ms()
            if held.token is not None and now_ms < held.token.ends_ms:
                held.renew_ms = now_ms + RENEW_AGAIN_MS
                return held.token
            held.failed = NoToken(error.reason, until_ms=error.until_ms)
            raise
        finally:
            held.flight = None
        part = _chance.uniform(RENEW_FROM, RENEW_TO)
        held.renew_ms, held.failed = found.made_ms + round((found.ends_ms - found.made_ms) * part), None
        return found

    async def _found(self, held: _Held) -> AccessToken:
        since_ms = max(held.refused_ms, held.token.made_ms if held.token else 0)
        grant, is_locked = held.grant, False
        gives_up = self._clock.monotonic() + LOCK_SECONDS + ANSWER_SECONDS
        while True:
            found = await asyncio.to_thread(self._share.look, grant)
            now_ms = self._clock.now_ms()
            if isinstance(found, AccessToken) and found.made_ms > since_ms and now_ms < found.ends_ms:
                if is_locked:
                    await asyncio.to_thread(self._share.leave, grant, None)
                return found
            if is_locked:
                return await self._asked(held, since_ms=since_ms)
            if isinstance(found, NoToken) and now_ms < found.until_ms and not self._insists:
                raise found
            if self._clock.monotonic() > gives_up:
                raise self._failure(grant, "another process still waits for its answer")
            is_locked = await asyncio.to_thread(self._share.lock, grant, seconds=LOCK_SECONDS)
            if not is_locked:
                await asyncio.sleep(LOOK_SECONDS)

    async def _asked(self, held: _Held, *, since_ms: int) -> AccessToken:
        """What the token server gives. Others find it, and why there is none where no token is left to go on with."""
        grant = held.grant
        left: AccessToken | NoToken | None = None
        try:
            token = await self._ask(grant)
            # Clocks may differ: a later token has a later time, by which others know it.
            is_second, made_ms = held.token is None and held.refused_ms > 0, max(token.made_ms, since_ms + 1)
            left = token = token._replace(is_second=is_second, made_ms=made_ms)
        except NoToken as error:
            left = None if held.token is not None or self._insists else error
            raise
        finally:
            await asyncio.to_thread(self._share.leave, grant, left)
        return token

    async def _ask(self, grant: Grant) -> AccessToken:
        made_ms = self._clock.now_ms()
        try:
            answer = await self._exchange(grant)
            if answer.fault is not None:
                raise answer.fault  # half a token is none
            return read_token(answer.status_code, answer.body, made_ms=made_ms)
        except NoToken as error:
            raise self._failure(grant, error.reason) from None
        except TimeoutError:
            raise self._failure(grant, f"no whole answer within {ANSWER_SECONDS:g} s") from None
        except (aiohttp.ClientError, OSError, BadHeader) as error:
            # Never its text: what the token server wrote may stand in it.
            raise self._failure(grant, f"the request failed ({failure_kind(error)})") from None

    async def _exchange(self, grant: Grant) -> Answer:
        form = {**dict(grant.fields), "grant_type": "client_credentials"}
        authorization = ""
        if grant.in_form:
            form |= {"client_id": grant.client_id, "client_secret": grant.secret}
        else:
            # RFC 6749, 2.3.1: both are encoded as in a form first.
            pair = f"{quote_plus(grant.client_id)}:{quote_plus(grant.secret)}"
            authorization = f"Basic {b64encode(pair.encode()).decode()}"
        target = Target(
            biz_type="",
            url=grant.url,
            host=urlsplit(grant.url).netloc,
            headers=(("Accept", "application/json"),),
            content_type="application/x-www-form-urlencoded",
            authorization=authorization,
        )
        route = Route(target, user_agent=USER_AGENT)
        ends = asyncio.get_running_loop().time() + ANSWER_SECONDS
        return await self._connections.exchange(route, "", urlencode(form).encode(), ends=ends)

    def _failure(self, grant: Grant, reason: str) -> NoToken:
        # A little before the gate opens for the job that tries it again, or that job would wait once more.
        until_ms = self._clock.now_ms() + self._hold_ms * 9 // 10
        return NoToken(f"{LACK}{urlsplit(grant.url).netloc}: {reason}", until_ms=until_ms)
