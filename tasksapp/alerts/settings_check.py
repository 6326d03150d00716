"""A system check: owners in the settings to whom nothing could be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004  Django's own name
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from delayhub.webhooks.signature import BadSecret, key_of
from tasksapp.biz_types.owner_webhook import owner_webhook
from tasksapp.conf import options

_HINT = "docs/run/alerts.md has an example."


@register(Tags.compatibility)
def check_owner(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """An error for each address or secret of the site's owner that cannot work."""
    if not isinstance(getattr(settings, "DELAYHUB", {}), Mapping):
        return []
    try:
        known = options()
    except ImproperlyConfigured:
        return []  # another check reports that
    wrong = {"OWNER_MAIL": _about_mail(known.owner_mail), "OWNER_URL": None, "OWNER_SECRET": None}
    if known.owner_url:
        wrong["OWNER_URL"] = owner_webhook(known.owner_url).complaint
    if known.owner_secret:
        wrong["OWNER_SECRET"] = _about_secret(known.owner_secret)
    return [
        Error(f"DELAYHUB[{name!r}]: {complaint}", hint=_HINT, id="delayhub.E019")
        for name, complaint in wrong.items()
        if complaint
    ]


@register(Tags.compatibility, deploy=True)
def check_being_told(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """Warnings where alerts reach no one, or have no links. Only before a deployment: development needs neither."""
    try:
        known = options()
    except ImproperlyConfigured:
        return []  # another check reports that
    found: list[CheckMessage] = []
    if not known.owner_mail and not known.owner_url:
        found.append(
            Warning(
                "alerts about the site reach no one: neither OWNER_MAIL nor OWNER_URL is set",
                hint=f"Set one of them in DELAYHUB; until then alerts are only listed in the admin. {_HINT}",
                id="delayhub.W024",
            )
        )
    if not known.site_url:
        found.append(
            Warning(
                "messages about alerts have no links: SITE_URL is not set",
                hint="Set DELAYHUB['SITE_URL'] to the address at which people reach the admin's site.",
                id="delayhub.W025",
            )
        )
    return found


def _about_mail(addresses: Sequence[str]) -> str | None:
    for address in addresses:
        try:
            validate_email(address)
        except ValidationError:
            return f"{address!r} is no mail address"
    return None


def _about_secret(secret: str) -> str | None:
    try:
        key_of(secret)
    except BadSecret as error:
        return str(error)
    return None
