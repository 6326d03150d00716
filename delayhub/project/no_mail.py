"""The mail backend of a site that names no mail server: it refuses, so that an alert shows why it was not sent."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend


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
