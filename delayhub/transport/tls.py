"""TLS connections that end with a sentence where the other side does not speak TLS."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import redis

from delayhub.transport.options import CONNECT_SECONDS

HINT = "for a port without TLS, write delayhub:// in place of delayhubs://, and no broker_use_ssl"


class NoTls(redis.RedisError):
    """The other side does not speak TLS. Not one of the errors after which redis-py connects again at once."""


class TlsConnection(redis.SSLConnection):
    """redis-py's, whose handshake ends after five seconds, or the option ``socket_connect_timeout``."""

    def __init__(self, *, ssl_cert_reqs: Any = "required", **options: Any) -> None:
        if ssl_cert_reqs in {None, "none", ssl.CERT_NONE}:
            options["ssl_check_hostname"] = False  # redis-py 6 checks it all the same, and fails
        super().__init__(ssl_cert_reqs=ssl_cert_reqs, **options)

    def connect(self) -> None:
        """Connects.

        Raises:
            redis.ConnectionError: there is no connection; the message says so where the other side speaks no TLS.
        """
        try:
            super().connect()  # type: ignore[no-untyped-call]  # redis-py has no types here
        except NoTls as error:
            raise redis.ConnectionError(str(error)) from error

    def _wrap_socket_with_ssl(self, sock: socket.socket) -> ssl.SSLSocket:
        # A Redis without TLS takes our part of the handshake for the first part of a command, and waits for the rest.
        seconds = self.socket_connect_timeout or CONNECT_SECONDS
        sock.settimeout(seconds)
        try:
            wrapped: Any = super()._wrap_socket_with_ssl(sock)  # type: ignore[no-untyped-call]  # nor here
        except TimeoutError as error:
            raise NoTls(f"{self._place()} did not answer a TLS handshake within {seconds:g} s: {HINT}") from error
        except ssl.SSLError as error:
            if error.reason != "WRONG_VERSION_NUMBER":
                raise
            raise NoTls(f"{self._place()} answers without TLS: {HINT}") from error
        wrapped.settimeout(self.socket_timeout)
        return wrapped  # type: ignore[no-any-return]  # nor here

    def _place(self) -> str:
        return f"{self.host}:{self.port}"
