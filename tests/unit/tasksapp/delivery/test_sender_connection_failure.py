"""An exception that ended a callback has a kind, by its class or by the operating system's number."""

from __future__ import annotations

import errno
import ssl
from unittest.mock import Mock

import aiohttp
import pytest

from tasksapp.delivery.address_guard import AddressRefused
from tasksapp.delivery.outcomes import Failure
from tasksapp.delivery.sender import failure_kind

KEY = Mock(ssl=True, host="receiver.example", port=443)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (aiohttp.ClientConnectorError(KEY, OSError(errno.ECONNREFUSED, "refused")), Failure.REFUSED),
        (aiohttp.ClientConnectorError(KEY, OSError(errno.ENETUNREACH, "no route")), Failure.UNREACHABLE),
        (aiohttp.ClientConnectorError(KEY, OSError(errno.ETIMEDOUT, "silence")), Failure.TIMEOUT),
        (TimeoutError(), Failure.TIMEOUT),
        (aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "no such name")), Failure.DNS),
        # the guard refuses addresses while a name is looked up
        (aiohttp.ClientConnectorDNSError(KEY, AddressRefused("host")), Failure.ADDRESS),
        (AddressRefused("host"), Failure.ADDRESS),
        (aiohttp.InvalidURL("nonsense"), Failure.ADDRESS),
        (aiohttp.ClientConnectorCertificateError(KEY, ssl.CertificateError("expired")), Failure.TLS),
        (aiohttp.ClientConnectorSSLError(KEY, OSError("handshake")), Failure.TLS),
        (ssl.SSLError("in the middle"), Failure.TLS),
        (aiohttp.ServerDisconnectedError(), Failure.RESET),
        (aiohttp.ClientOSError(errno.ECONNRESET, "reset"), Failure.RESET),
        (ConnectionResetError(errno.ECONNRESET, "reset"), Failure.RESET),
        (BrokenPipeError(errno.EPIPE, "gone"), Failure.RESET),
        (aiohttp.ClientPayloadError("not an HTTP answer"), Failure.PROTOCOL),
        # what we do not know
        (OSError("no number"), Failure.OTHER),
        (ValueError("a mistake"), Failure.OTHER),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_failure_has_a_kind(error: Exception, kind: Failure) -> None:
    assert failure_kind(error) is kind
