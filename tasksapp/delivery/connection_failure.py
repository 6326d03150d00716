"""What kind of failure an exception is that ended a callback without an answer."""

from __future__ import annotations

import errno
import ssl

import aiohttp

from tasksapp.delivery.address_guard import AddressRefused
from tasksapp.delivery.failure import Failure

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
