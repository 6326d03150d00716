"""Who is told of an alert: the owner of its biz type, else the owner of the site."""

from __future__ import annotations

from typing import NamedTuple

from tasksapp.biz_types.validation import mail_addresses
from tasksapp.conf import options
from tasksapp.models import AlertMessage, BizType

Channel = AlertMessage.Channel


class Recipient(NamedTuple):
    """An address, and how it is reached."""

    channel: Channel
    address: str


def site_owner() -> list[Recipient]:
    """The owner of the site; empty where the settings name none."""
    known = options()
    mails = [Recipient(Channel.MAIL, address) for address in known.owner_mail]
    return mails + ([Recipient(Channel.WEBHOOK, known.owner_url)] if known.owner_url else [])


def owner_of(biz_type: BizType | None) -> list[Recipient]:
    """The owner of the biz type; that of the site where it has none, and for None."""
    if biz_type is None:
        return site_owner()
    mails = [Recipient(Channel.MAIL, address) for address in mail_addresses(biz_type.owner_mail)]
    own = mails + ([Recipient(Channel.WEBHOOK, biz_type.owner_url)] if biz_type.owner_url else [])
    return own or site_owner()
