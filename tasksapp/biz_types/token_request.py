"""What a biz type asks its token server for: the grant of its callbacks, and what may be typed for it."""

from __future__ import annotations

import re
from typing import Any

from django.utils.translation import gettext as _

from tasksapp.conf import options
from tasksapp.delivery.access_token import Grant
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.request_url import BadUrl, request_url
from tasksapp.models import BizType

#: What the grant follows from, as columns.
COLUMNS = ("url", "auth", "auth_secret_sealed", "token_url", "client_id", "token_fields")
#: Fields of the form that are set from the others.
_OWN = frozenset({"grant_type", "client_id", "client_secret"})
#: Characters of all names and values of the form's other fields.
LONGEST_FIELDS = 2_048
_PRINTED = re.compile(r"[\x20-\x7e]*")


def grant_of(biz_type: BizType) -> Grant | None:
    """What an access token is asked for with; None where callbacks carry none.

    Raises SecretUnreadable where the secret cannot be decrypted.
    """
    if not biz_type.asks_for_token:
        return None
    return Grant(
        url=biz_type.token_url,
        client_id=biz_type.client_id,
        secret=biz_type.auth_secret,
        in_form=biz_type.auth == BizType.Auth.OAUTH2_FORM,
        fields=tuple(sorted(biz_type.token_fields.items())),
        receiver=origin_of(biz_type.url),
        lane=biz_type.timer_lane,
        queue=biz_type.queue,
    )


def token_complaints(biz_type: BizType) -> dict[str, str]:
    """By field, what is wrong with what it asks its token server; where it asks none, fields may wait for that."""
    found = fields_complaints(biz_type)
    if not biz_type.asks_for_token:
        return found
    if not biz_type.token_url:
        found["token_url"] = _("Give the address of the token server.")
    elif message := AddressGuard(options().allowed_networks).complaint(biz_type.token_url):
        found["token_url"] = message
    if not biz_type.client_id or not _PRINTED.fullmatch(biz_type.client_id):
        found["client_id"] = _("Give the client's id, as the token server knows it.")
    return found


def fields_complaints(biz_type: BizType) -> dict[str, str]:
    """By field, what is wrong with the other fields of the request, whether or not one is made; empty for nothing."""
    message = _about_fields(biz_type.token_fields)
    return {"token_fields": message} if message else {}


def _about_fields(fields: Any) -> str | None:
    texts = list(fields.values()) if isinstance(fields, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        return _('This must be a JSON object of texts, such as {"scope": "orders"}.')
    if taken := sorted(_OWN & fields.keys()):
        return _("%(name)s has a field of its own here.") % {"name": taken[0]}
    if sum(len(name) + len(text) for name, text in fields.items()) > LONGEST_FIELDS:
        return _("These may have %(most)s characters in all.") % {"most": LONGEST_FIELDS}
    return None


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL; the text itself where it is none."""
    try:
        return str(request_url(url).origin())
    except BadUrl:
        return url
