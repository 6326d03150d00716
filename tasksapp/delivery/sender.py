"""Sends one callback and gives back what became of it: one total timeout, capped answers, no redirects."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import ssl

import aiohttp

import delayhub
from delayhub.clock import Clock
from delayhub.webhooks.public_key import sign_by_keys
from delayhub.webhooks.signature import BadSecret, sign
from tasksapp.delivery.address_guard import AddressGuard, AddressRefused
from tasksapp.delivery.answers import judge
from tasksapp.delivery.callback import Callback, Target
from tasksapp.delivery.client_tls import BadCertificate, context_of
from tasksapp.delivery.connections import Answer, Connections, ConnectionState, connection_state
from tasksapp.delivery.outcomes import (
    REMARK,
    CallbackOutcome,
    CallbackResult,
    Failure,
    GiveUp,
    Response,
    Retry,
    Returned,
)
from tasksapp.delivery.route import BadHeader, Route, header_lines
from tasksapp.delivery.sent_headers import SIGNATURE, Head, SentHeaders, own_lines

logger = logging.getLogger(__name__)

#: Response headers that are kept, and how much of each.
MAX_HEADERS, MAX_HEADER_LENGTH = 50, 500
#: Targets whose routes are remembered; each edit of a biz type makes another.
MAX_ROUTES = 1_000
#: What receivers see.
USER_AGENT = f"DelayHub/{delayhub.__version__}"


class Sender:
    """Sends callbacks over pooled connections. Made, used and closed inside one event loop.

    Args:
        guard: says which addresses may be connected to.
        clock: tells the time for signatures and lateness.
        response_bytes: how much of a response body is read and kept.
    """

    def __init__(self, *, guard: AddressGuard, clock: Clock, response_bytes: int) -> None:
        self._clock = clock
        self._pooled = Connections(guard, keep=True, answer_bytes=response_bytes)
        # For callbacks that must not be sent on a connection which the server may just be closing.
        self._fresh = Connections(guard, keep=False, answer_bytes=response_bytes)
        self._routes: dict[int, tuple[Target, Route]] = {}

    async def close(self) -> None:
        """Closes all connections."""
        await self._pooled.close()
        await self._fresh.close()

    async def send(self, callback: Callback) -> CallbackResult:
        """Sends it once; again, within the same attempt, only where a reused connection had been closed."""
        started_ms, began = self._clock.now_ms(), self._clock.monotonic()
        target = callback.target
        if target.refusal:
            return CallbackResult(callback, GiveUp(target.refusal, Failure.ADDRESS), started_ms)
        outcome: CallbackOutcome
        request_line, sent = "", None
        response: Response | None = None
        connection_state.set(ConnectionState.CONNECTING)
        try:
            if target.tls is not None and id(target) not in self._routes:
                await asyncio.to_thread(context_of, target.tls)  # it reads files
            route = self._route(target)
            made = sent_headers(callback, head=route.shown_head)
            lines = _own_lines(callback, made, started_ms)
            request_line, sent = route.shown_line, made
            answer = await self._exchange(route, lines, callback)
            duration_ms = self._ms_since(began)
            outcome = judge(target, answer.status_code, answer.headers, now_ms=started_ms + duration_ms)
            response = _response(answer, target)
        except (BadSecret, BadHeader, BadCertificate) as error:
            return CallbackResult(callback, Returned(f"system: {error}", after_seconds=60, is_fault=True))
        except Exception as error:
            duration_ms = self._ms_since(began)
            outcome = _failure(error, callback, unsent=connection_state.get() is ConnectionState.CONNECTING)
        return CallbackResult(callback, outcome, started_ms, duration_ms, response, request_line, sent)

    def _ms_since(self, began: float) -> int:
        return round((self._clock.monotonic() - began) * 1000)

    async def _exchange(self, route: Route, headers: str, callback: Callback) -> Answer:
        ends = asyncio.get_running_loop().time() + callback.target.timeout_seconds
        if callback.target.at_most_once:
            return await self._fresh.exchange(route, headers, callback.body, ends=ends)
        try:
            return await self._pooled.exchange(route, headers, callback.body, ends=ends)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if connection_state.get() is not ConnectionState.REUSED:
                raise
        return await self._fresh.exchange(route, headers, callback.body, ends=ends)

    def _route(self, target: Target) -> Route:
        # By identity: a target is made once for each edit of its biz type, and comparing would cost more.
        known = self._routes.get(id(target))
        if known is not None:
            return known[1]
        if len(self._routes) >= MAX_ROUTES:
            self._routes.clear()
        route = Route(target, user_agent=USER_AGENT)
        self._routes[id(target)] = target, route
        return route


def header_text(callback: Callback, started_ms: int) -> str:
    """The header lines that only this callback has.

    Raises BadSecret, or BadHeader for a trace context with a line break.
    """
    return _own_lines(callback, sent_headers(callback, head=()), started_ms)


def sent_headers(callback: Callback, *, head: Head) -> SentHeaders:
    """What is kept of the callback's headers, and made into them."""
    return SentHeaders(
        callback.due_ms,
        callback.attempt,
        callback.max_attempts,
        callback.redrives,
        len(callback.body),
        bool(callback.target.secrets or callback.target.private_keys),
        callback.is_test,
        callback.traceparent,
        head,
        callback.occurrence_ms,
        callback.turn,
        callback.is_out_of_order,
    )


def _own_lines(callback: Callback, sent: SentHeaders, started_ms: int) -> str:
    if callback.traceparent:
        header_lines({"traceparent": callback.traceparent})
    job_id, secrets = callback.job_id, callback.target.secrets
    lines = own_lines(sent, job_id=job_id, started_ms=started_ms, lateness_ms=started_ms - callback.run_at_ms)
    signed = ""
    if secrets:
        signed = sign(secrets, message_id=job_id, timestamp=started_ms // 1000, body=callback.body)
    if keys := callback.target.private_keys:
        # v1 first: libraries for it alone pass over what follows.
        by_keys = sign_by_keys(keys, message_id=job_id, timestamp=started_ms // 1000, body=callback.body)
        signed = f"{signed} {by_keys}".strip()
    if signed:
        lines += f"{SIGNATURE}: {signed}\r\n"
    return lines


def _response(answer: Answer, target: Target) -> Response:
    kept = {_text(name): _text(value)[:MAX_HEADER_LENGTH] for name, value in list(answer.headers.items())[:MAX_HEADERS]}
    if answer.fault is not None:
        kept[REMARK] = _remark(answer.fault, target)
    return Response(answer.status_code, kept, _text(answer.body.decode("utf-8", "replace")))


def _remark(fault: Exception, target: Target) -> str:
    """The fault in an answer whose status is known."""
    return _no_answer_within(target) if isinstance(fault, TimeoutError) else _text(_in_one_line(fault))


def _no_answer_within(target: Target) -> str:
    return f"no whole answer within {target.timeout_seconds:g} s"


def _failure(error: Exception, callback: Callback, *, unsent: bool) -> CallbackOutcome:  # noqa: PLR0911  a table
    refusal = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    refusal = error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else refusal
    kind = failure_kind(error)
    if alert := _ALERT.search(str(error)):
        # By TLS 1.3 it comes in the place of the answer, so the callback was sent, as far as can be said.
        return Retry(_BY_ALERT.get(alert.group(1), "the receiver refused TLS"), unsent=unsent, kind=Failure.TLS)
    match refusal:
        case AddressRefused(may_change=True):
            return Retry(str(refusal.strerror), unsent=unsent, kind=kind)
        case AddressRefused():
            return GiveUp(str(refusal.strerror), kind)
        case TimeoutError():
            text = _no_answer_within(callback.target)
            if unsent:
                text = f"no connection within {callback.target.timeout_seconds:g} s"
            return Retry(text, unsent=unsent, kind=kind)
        case aiohttp.InvalidURL():
            # Without it: what cannot be read cannot be masked.
            return GiveUp("its URL is none that can be called", kind)
        case ssl.SSLCertVerificationError():
            text = f"the receiver's certificate is not trusted: {refusal.verify_message}"
            return Retry(text, unsent=unsent, kind=kind)
        case ConnectionResetError() if type(error) is aiohttp.ClientConnectorError and not refusal.errno:
            text = f"{error.host}:{error.port} closed the connection while TLS began"
            return Retry(text, unsent=unsent, kind=Failure.TLS)
        case OSError() if type(error) is aiohttp.ClientConnectorError:
            # Its own text has the address that was dialled, which may be of an internal network.
            reason = os.strerror(refusal.errno) if refusal.errno else "no address answers"
            return Retry(f"no connection to {error.host}:{error.port}: {reason}", unsent=unsent, kind=kind)
        case aiohttp.ClientError() | OSError():
            return Retry(_in_one_line(error), unsent=unsent, kind=kind)
        case _:
            told = None if callback.target.is_untold else error
            logger.warning("a callback failed in an unexpected way", exc_info=told, extra={"job_id": callback.job_id})
            return Retry(_in_one_line(error), unsent=unsent, kind=kind)


#: A receiver's alert, as OpenSSL names it, and what it means to people.
_ALERT = re.compile(r"\b(?:SSLV3|TLSV1|TLSV13)_ALERT_([A-Z_]+)")
_ASKS = "the receiver asks for a client certificate"
_BY_ALERT = dict.fromkeys(
    (
        "BAD_CERTIFICATE", "UNKNOWN_CA", "UNSUPPORTED_CERTIFICATE", "CERTIFICATE_REVOKED", "CERTIFICATE_EXPIRED",
        "CERTIFICATE_UNKNOWN", "ACCESS_DENIED", "DECRYPT_ERROR",
    ),
    "the receiver refused the client certificate",
) | {
    "CERTIFICATE_REQUIRED": _ASKS,
    "HANDSHAKE_FAILURE": f"the receiver refused TLS; perhaps {_ASKS}",
}  # fmt: skip


def _in_one_line(error: Exception) -> str:
    """The exception's class and text: aiohttp's has what the receiver sent in several lines, below a mark."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


def _text(value: str) -> str:
    """Text that a database accepts: no NUL, no lone surrogates."""
    if value.isascii() and "\x00" not in value:
        return value
    return value.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


#: By the number of the operating system's error.
_BY_NUMBER = {
    errno.ECONNREFUSED: Failure.REFUSED,
    errno.ECONNRESET: Failure.RESET,
    errno.EPIPE: Failure.RESET,
    errno.ECONNABORTED: Failure.RESET,
    errno.EHOSTUNREACH: Failure.UNREACHABLE,
    errno.ENETUNREACH: Failure.UNREACHABLE,
    errno.EHOSTDOWN: Failure.UNREACHABLE,
    errno.EADDRNOTAVAIL: Failure.UNREACHABLE,
    errno.ETIMEDOUT: Failure.TIMEOUT,
}


#: By the class of an exception; the first that fits.
_BY_CLASS: tuple[tuple[type[Exception], Failure], ...] = (
    (AddressRefused, Failure.ADDRESS),
    (TimeoutError, Failure.TIMEOUT),
    (aiohttp.ClientConnectorDNSError, Failure.DNS),
    (aiohttp.ClientSSLError, Failure.TLS),
    (aiohttp.ServerFingerprintMismatch, Failure.TLS),
    (ssl.SSLError, Failure.TLS),
    (aiohttp.ServerDisconnectedError, Failure.RESET),
    (aiohttp.ClientConnectionResetError, Failure.RESET),
    (aiohttp.ClientPayloadError, Failure.PROTOCOL),
    (aiohttp.ClientResponseError, Failure.PROTOCOL),
    (aiohttp.InvalidURL, Failure.ADDRESS),
)


def failure_kind(error: Exception) -> Failure:
    """The kind of failure of a callback that the exception ended."""
    # What a connection failed with is inside: the guard refuses addresses while a name is looked up.
    inside = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    for known, kind in _BY_CLASS:
        if isinstance(inside, known) or (isinstance(error, known) and not isinstance(inside, AddressRefused)):
            return kind
    number = inside.errno if isinstance(inside, OSError) else None
    return _BY_NUMBER.get(number or 0, Failure.OTHER)
