"""Sends one message, by mail or as a signed post through the address guard; a failure is a sentence, no exception."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from email.utils import make_msgid
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from tasksapp.alerts.composer import Channel, Composed
from tasksapp.alerts.post_format import bodies
from tasksapp.biz_types.owner_webhook import owner_webhook
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.callback import Target
from tasksapp.delivery.outcomes import GiveUp, Retry, Returned
from tasksapp.delivery.single_callback import send_single

#: How long a mail server or a receiver may take to answer.
SECONDS = 10.0
#: As much of a failure is kept.
LONGEST_ERROR = 500
_SMTP = "django.core.mail.backends.smtp.EmailBackend"


def send(message: Composed, *, secrets: Sequence[str] = ()) -> str:
    """Why the message was not sent; '' where it was.

    Args:
        message: the message.
        secrets: what a post is signed with; none: it is not signed.
    """
    if message.recipient.channel == Channel.MAIL:
        return _send_mail(message)[:LONGEST_ERROR]
    return asyncio.run(_post(message, secrets))[:LONGEST_ERROR]


def _send_mail(message: Composed) -> str:
    more: dict[str, Any] = (
        {"timeout": SECONDS} if settings.EMAIL_BACKEND == _SMTP and not settings.EMAIL_TIMEOUT else {}
    )
    try:
        mail = EmailMessage(
            # A line break in it would be another header.
            subject=" ".join(message.subject.split()),
            body=message.text,
            to=[message.recipient.address],
            # The same at each try: mail servers and readers recognise a message that came twice.
            headers={"Message-ID": _message_id(message.uid), "Auto-Submitted": "auto-generated"},
            connection=get_connection(**more),
        )
        mail.send()
    except Exception as error:  # also what a backend of another package raises
        return f"{type(error).__name__}: {error}"
    return ""


def _message_id(uid: UUID) -> str:
    host = urlsplit(options().site_url or "").hostname or make_msgid().rpartition("@")[2].rstrip(">")
    return f"<{uid}@{host}>"


async def _post(message: Composed, secrets: Sequence[str]) -> str:
    known, address = options(), owner_webhook(message.recipient.address)
    target = Target(
        biz_type="delayhub.alerts",
        url=address.url,
        host=urlsplit(address.url).netloc,
        secrets=tuple(secrets),
        timeout_seconds=SECONDS,
    )
    for body in bodies(address, subject=message.subject, text=message.text, payload=message.payload):
        result = await send_single(
            target,
            json.dumps(body, ensure_ascii=False).encode(),
            message_id=str(message.uid),
            guard=AddressGuard(known.allowed_networks),
            response_bytes=known.response_bytes,
        )
        match result.outcome:
            case Retry(reason=reason) | GiveUp(reason=reason) | Returned(reason=reason):
                return reason
    return ""
