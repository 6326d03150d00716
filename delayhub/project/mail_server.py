"""The mail server that an address names: ``smtp://user:password@host:587``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

_BACKENDS = "django.core.mail.backends"
#: By the scheme of the address: its usual port, whether TLS begins with STARTTLS, whether it is there from the start.
_SCHEMES = {"smtp": (587, True, False), "smtps": (465, False, True), "smtp+plain": (25, False, False)}


@dataclass(frozen=True, kw_only=True, slots=True)
class MailServer:
    """Where mail is handed in.

    Args:
        backend: Django's name for the way.
        host: its name.
        port: its port.
        user: who hands it in; '' for anybody.
        password: the password.
        starttls: whether the connection changes to TLS.
        tls: whether it begins with TLS.
    """

    backend: str = f"{_BACKENDS}.smtp.EmailBackend"
    host: str = "localhost"
    port: int = 25
    user: str = ""
    password: str = ""
    starttls: bool = False
    tls: bool = False

    def __repr__(self) -> str:
        return f"MailServer({self.host}:{self.port})"  # never the password


def mail_server(url: str) -> MailServer:
    """The server at that address; for '' one that refuses all mail, so that a failure shows.

    Args:
        url: ``smtp://`` (with STARTTLS), ``smtps://`` (TLS), ``smtp+plain://`` (no TLS) or ``console://`` (the log).

    Raises ImproperlyConfigured where it is no such address.
    """
    if not url:
        return MailServer(backend="delayhub.project.mail_server.EmailBackend")
    schemes = ", ".join(f"{scheme}://" for scheme in (*_SCHEMES, "console"))
    unreadable = ImproperlyConfigured(f"DELAYHUB_EMAIL_URL must be such as smtp://user:password@host:587 ({schemes})")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # which may quote a part of the password
        raise unreadable from None
    if parts.scheme == "console":
        return MailServer(backend=f"{_BACKENDS}.console.EmailBackend")
    if parts.scheme not in _SCHEMES or not parts.hostname or port == 0:
        raise unreadable
    usual, starttls, tls = _SCHEMES[parts.scheme]
    return MailServer(
        host=parts.hostname,
        port=port or usual,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=starttls,
        tls=tls,
    )


class NoMailServer(OSError):
    """No mail server is set: name one in DELAYHUB_EMAIL_URL."""

    def __init__(self) -> None:
        super().__init__("no mail server is set: name one in DELAYHUB_EMAIL_URL")


class EmailBackend(BaseEmailBackend):
    """Raises NoMailServer for each message."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Raises NoMailServer, unless it is to be silent."""
        if email_messages and not self.fail_silently:
            raise NoMailServer
        return 0
