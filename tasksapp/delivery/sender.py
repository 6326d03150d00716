"""Sends one callback and says what became of it: one total timeout, capped answers, no redirects, no surprises."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Protocol

import aiohttp

from tasksapp.delivery.addresses import AddressGuard, AddressRefused
from tasksapp.delivery.answers import judge
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcomes import Finding, GiveUp, Outcome, Response, Retry, Returned
from tasksapp.delivery.signature import sign

logger = logging.getLogger(__name__)

#: Response headers that are kept, and how much of each.
MAX_HEADERS, MAX_HEADER_LENGTH = 50, 500


class Clock(Protocol):
    """Tells Unix time in ms and a monotonic time in seconds."""

    def now_ms(self) -> int: ...

    def monotonic(self) -> float: ...


class _Way(Enum):
    """How far a request came."""

    REUSED = "on a connection that was there"
    CONNECTING = "still connecting, so nothing is sent"
    FRESH = "on a connection of its own"


#: Of the request that this task is sending. (Tracing would tell the same, for a tenth of what a callback costs.)
_way: ContextVar[_Way] = ContextVar("way")


class _Connector(aiohttp.TCPConnector):
    """Notes whether a request got a connection that was there, and whether it got one at all."""

    async def _create_connection(self, *args: Any, **options: Any) -> Any:
        _way.set(_Way.CONNECTING)
        made = await super()._create_connection(*args, **options)
        _way.set(_Way.FRESH)
        return made


class Sender:
    """Sends callbacks over pooled connections. Made, used and closed inside one event loop.

    Args:
        guard: says which addresses may be dialled.
        clock: tells the time for signatures and lateness.
        response_bytes: how much of a response body is read and kept.
        user_agent: what receivers see.
    """

    def __init__(self, *, guard: AddressGuard, clock: Clock, response_bytes: int, user_agent: str = "DelayHub") -> None:
        self._clock = clock
        self._response_bytes = response_bytes
        self._user_agent = user_agent
        self._pooled = self._session(guard, force_close=False)
        # For callbacks that must not meet a connection which its server is just closing.
        self._fresh = self._session(guard, force_close=True)

    async def close(self) -> None:
        """Closes all connections."""
        await self._pooled.close()
        await self._fresh.close()

    async def send(self, callback: Callback) -> Finding:
        """Sends it once; a second time, as the same attempt, only where a reused connection had been closed."""
        started_ms, began = self._clock.now_ms(), self._clock.monotonic()
        headers = self._headers(callback, started_ms)
        if isinstance(headers, Returned):
            return Finding(callback=callback, outcome=headers)
        outcome: Outcome
        response: Response | None = None
        try:
            async with asyncio.timeout(callback.target.timeout_seconds):
                session = self._fresh if callback.target.at_most_once else self._pooled
                try:
                    outcome, response = await self._exchange(session, callback, headers)
                except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                    if _way.get() is not _Way.REUSED:
                        raise
                    outcome, response = await self._exchange(self._fresh, callback, headers)
        except Exception as error:
            outcome = _failure(error, callback, unsent=_way.get() is _Way.CONNECTING)
        duration_ms = round((self._clock.monotonic() - began) * 1000)
        return Finding(
            callback=callback, outcome=outcome, started_ms=started_ms, duration_ms=duration_ms, response=response
        )

    async def _exchange(
        self, session: aiohttp.ClientSession, callback: Callback, headers: dict[str, str]
    ) -> tuple[Outcome, Response]:
        target = callback.target
        _way.set(_Way.REUSED)
        async with session.request(
            target.method,
            target.url,
            data=callback.body,
            headers=headers,
            allow_redirects=False,
        ) as response:
            body = await self._read(response)
        kept = {
            _text(name): _text(value)[:MAX_HEADER_LENGTH]
            for name, value in list(response.headers.items())[:MAX_HEADERS]
        }
        outcome = judge(target, response.status, response.headers, now_ms=self._clock.now_ms())
        return outcome, Response(response.status, kept, _text(body.decode("utf-8", "replace")))

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body up to the cap; where it goes on, the connection is closed."""
        parts: list[bytes] = []
        room = self._response_bytes
        while room > 0:
            part = await response.content.read(room)
            if not part:
                return b"".join(parts)
            parts.append(part)
            room -= len(part)
        if not response.content.at_eof():
            response.close()
        return b"".join(parts)

    def _headers(self, callback: Callback, started_ms: int) -> dict[str, str] | Returned:
        target = callback.target
        headers = dict(target.headers)
        headers |= {
            "Content-Type": "application/json",
            "User-Agent": self._user_agent,
            "Accept-Encoding": "identity",
            "webhook-id": callback.job_id,
            "webhook-timestamp": str(started_ms // 1000),
            "delayhub-biz-type": target.biz_type,
            "delayhub-due-at": datetime.fromtimestamp(callback.due_ms / 1000, UTC).isoformat(timespec="milliseconds"),
            "delayhub-lateness-ms": str(started_ms - callback.run_at_ms),
            "delayhub-attempt": str(callback.attempt),
            "delayhub-max-attempts": str(callback.max_attempts),
        }
        if callback.traceparent:
            headers["traceparent"] = callback.traceparent
        if target.authorization:
            headers["Authorization"] = target.authorization
        if target.secrets:
            try:
                headers["webhook-signature"] = sign(
                    target.secrets, message_id=callback.job_id, timestamp=started_ms // 1000, body=callback.body
                )
            except ValueError as error:
                return Returned(f"system: {error}", after_seconds=60)
        return headers

    def _session(self, guard: AddressGuard, *, force_close: bool) -> aiohttp.ClientSession:
        options: dict[str, Any] = {} if force_close else {"keepalive_timeout": 15.0}
        session = aiohttp.ClientSession(
            # The dispatcher has caps of its own; a limit here would count waiting as sending.
            connector=_Connector(
                limit=0,
                force_close=force_close,
                socket_factory=guard.make_socket,
                ttl_dns_cache=5,
                **options,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            trust_env=False,
        )
        # aiohttp sends idempotent methods again by itself: 2 PUTs sent, 3 seen. There is no public switch.
        session._retry_connection = False
        return session


def _failure(error: Exception, callback: Callback, *, unsent: bool) -> Outcome:
    refusal = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    match refusal:
        case AddressRefused():
            return GiveUp(str(refusal.strerror))
        case TimeoutError():
            seconds = callback.target.timeout_seconds
            what = "no connection" if unsent else "no whole answer"
            return Retry(f"{what} within {seconds:g} s", unsent=unsent)
        case aiohttp.InvalidURL():
            return GiveUp(f"not a URL: {callback.target.url}")
        case aiohttp.ClientError() | OSError():
            return Retry(f"{type(error).__name__}: {error}"[:500], unsent=unsent)
        case _:
            logger.warning("a callback failed in an unexpected way", exc_info=error, extra={"job_id": callback.job_id})
            return Retry(f"{type(error).__name__}: {error}"[:500], unsent=unsent)


def _text(value: str) -> str:
    """Text that a database takes: no NUL, no half surrogates."""
    return value.encode("utf-8", "replace").decode().replace("\x00", "�")
