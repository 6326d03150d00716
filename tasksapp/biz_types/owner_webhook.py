"""An owner's webhook: where alerts are posted, and who is to read them there, as the beginning of its address says."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from django.utils.translation import gettext as _

from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard


class PostFormat(StrEnum):
    """Who is to read it. An address that begins with ``slack+https://`` names Slack; ``https://`` alone, a program."""

    OWN = ""
    SLACK = "slack"
    TEAMS = "teams"
    PAGERDUTY = "pagerduty"


class OwnerWebhook(NamedTuple):
    """An owner's webhook, taken apart.

    ``url`` is where posts go; ``key`` is PagerDuty's routing key, which stands before the host:
    ``pagerduty+https://KEY@events.pagerduty.com/v2/enqueue``.
    """

    form: PostFormat
    url: str
    key: str = ""

    @property
    def complaint(self) -> str | None:
        """Why nothing could be posted there, in a sentence; None where it could."""
        if self.form is PostFormat.PAGERDUTY and not self.key:
            return _("The routing key is missing: pagerduty+https://KEY@events.pagerduty.com/v2/enqueue")
        return AddressGuard(options().allowed_networks).complaint(self.url)


def owner_webhook(address: str) -> OwnerWebhook:
    """The address taken apart; one whose beginning names no form known here stays as it is, for the guard to refuse."""
    name, plus, url = address.partition("+")
    if not plus or name.lower() not in set(PostFormat) - {""}:
        return OwnerWebhook(PostFormat.OWN, address)
    form = PostFormat(name.lower())
    if form is not PostFormat.PAGERDUTY:
        return OwnerWebhook(form, url)
    try:
        parts = urlsplit(url)
    except ValueError:
        return OwnerWebhook(form, url)
    key, _at, host = parts.netloc.rpartition("@")
    return OwnerWebhook(form, urlunsplit(parts._replace(netloc=host)), unquote(key))
