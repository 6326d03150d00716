"""A mail server for tests: a real one, which keeps what it gets."""

from __future__ import annotations

import email
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller

from delayhub.local.redis_server import free_port


@dataclass
class MailSink:
    """Keeps all mail, or refuses it."""

    port: int = 0
    refuses: bool = False
    mails: list[EmailMessage] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Takes one mail in, as aiosmtpd asks it to."""
        if self.refuses:
            return "451 try again later"
        mail = email.message_from_bytes(envelope.original_content, policy=default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 OK"

    @property
    def url(self) -> str:
        """Its address, as DELAYHUB_EMAIL_URL has it."""
        return f"smtp+plain://127.0.0.1:{self.port}"

    @property
    def subjects(self) -> list[str]:
        """The subjects of all mails, in order."""
        return [str(mail["Subject"]) for mail in self.mails]


@contextmanager
def mail_sink() -> Iterator[MailSink]:
    """A running one."""
    sink = MailSink(port=free_port())
    controller = Controller(sink, hostname="127.0.0.1", port=sink.port)
    controller.start()
    try:
        yield sink
    finally:
        controller.stop()
