"""What a biz type may be as a whole: checked when a person edits it, so that no job fails for a mistake in it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import router
from django.utils.translation import gettext as _

from delayhub.webhooks.signature import key_of
from tasksapp.biz_types.allowed_tasks import attempts_complaint, queue_complaint, task_complaint
from tasksapp.biz_types.certificate import bundle_complaint
from tasksapp.biz_types.follow_ups import FOLLOW_UPS, follow_up_loop
from tasksapp.biz_types.masked_fields import pointer_complaint
from tasksapp.biz_types.owner_webhook import owner_webhook
from tasksapp.biz_types.token_request import fields_complaints, origin_of, token_complaints
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.host_patterns import host_patterns
from tasksapp.delivery.request_url import BadUrl
from tasksapp.models import BizType, Job, Series, Status
from tasksapp.models.columns import is_code

_HEADER_NAME = re.compile(r"\A[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
#: Headers that belong to the connection or to the delivery.
RESERVED_HEADERS = frozenset(
    {
        "connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive",
        "proxy-authenticate", "te", "traceparent", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
#: Headers that hold credentials. The others are stored and shown as they are.
CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
RESERVED_PREFIXES = ("webhook-", "delayhub-")
#: The longest wait between two attempts is a year; a job lives, and is kept, for at most ten.
LONGEST_BACKOFF_SECONDS, LONGEST_AGE = 31_536_000, timedelta(days=3_652)
#: Status codes that can be permanent failures: 1xx is never the answer, and 2xx is a success.
FAILURE_CODES = range(300, 600)
#: The highest rate, in jobs a second; far above what one Redis takes.
HIGHEST_RATE = 1_000_000
#: Bytes of all headers of a biz type, and of its credentials: receivers take 8 KB in all, as a rule.
LONGEST_HEADERS, LONGEST_SECRET = 4_096, 2_048
#: A token as RFC 6750 has it in a header: letters, digits and signs, no blank.
_TOKEN = re.compile(r"\A[\x21-\x7e]+\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def complaints(biz_type: BizType) -> dict[str, str]:
    """By field, a sentence about what is wrong with it; empty where the biz type is valid."""
    found = _about_target(biz_type) | fields_complaints(biz_type)
    if (message := _about_headers(biz_type.headers)) is not None:
        found["headers"] = message
    if (message := _about_backoff_list(biz_type)) is not None:
        found["backoff_list"] = message
    codes = biz_type.permanent_status_codes
    if not isinstance(codes, list) or not all(_is_whole(code) and code in FAILURE_CODES for code in codes):
        found["permanent_status_codes"] = "This must be a list of HTTP status codes from 300 to 599, such as [404]."
    for name in ("insert_rate", "delivery_rate", "key_rate"):
        rate = getattr(biz_type, name)
        if rate is not None and not 0 < rate <= HIGHEST_RATE:
            found[name] = _("This must be a number of jobs a second, at most %(most)s.") % {"most": f"{HIGHEST_RATE:_}"}
    if biz_type.backoff_max_seconds < biz_type.backoff_min_seconds:
        found["backoff_max_seconds"] = _("This may not be less than the shortest backoff.")
    elif biz_type.backoff_max_seconds > LONGEST_BACKOFF_SECONDS:
        found["backoff_max_seconds"] = _("This may be at most a year, %(seconds)s seconds.") % {
            "seconds": LONGEST_BACKOFF_SECONDS
        }
    for name in ("max_age", "max_lateness", "retention", "debounce_max_wait"):
        value = getattr(biz_type, name)
        if value is not None and not timedelta(0) <= value <= LONGEST_AGE:
            found[name] = _("This must be from 0 to %(days)s days.") % {"days": LONGEST_AGE.days}
    if biz_type.lane not in options().lanes:
        lanes = ", ".join(options().lanes)
        found["lane"] = _("No worker serves this lane; DELAYHUB['LANES'] has %(lanes)s.") % {"lanes": lanes}
    if (message := pointer_complaint(biz_type.masked_fields)) is not None:
        found["masked_fields"] = message
    found |= _about_one_live(biz_type) | _about_order(biz_type)
    if (message := bundle_complaint(biz_type.ca_bundle)) is not None:
        found["ca_bundle"] = message
    return found | _about_owner(biz_type) | _about_follow_ups(biz_type)


def _about_order(biz_type: BizType) -> dict[str, str]:
    if biz_type.pk is None or not biz_type.is_ordered:
        return {}
    using = biz_type._state.db or router.db_for_read(BizType)
    if not BizType.objects.using(using).filter(pk=biz_type.pk, ordered=BizType.Ordered.NO).exists():
        return {}
    # They run beside each other, and nothing says which of them the others of their key are to wait for.
    running = Job.objects.using(using).filter(biz_type=biz_type.pk, status=Status.RUNNING, place__isnull=False)
    if not running.exists():
        return {}
    text = _(
        "Jobs run that were made while this was on before. Pause the biz type, and switch it on when they have ended."
    )
    return {"ordered": text}


def _about_one_live(biz_type: BizType) -> dict[str, str]:
    if biz_type.pk is None or biz_type.one_live == BizType.OneLive.ANY:
        return {}
    using = biz_type._state.db or router.db_for_read(BizType)
    # Only those who choose it: of a row that has it all the same, other fields can be stored.
    chooses = BizType.objects.using(using).filter(pk=biz_type.pk, one_live=BizType.OneLive.ANY).exists()
    series = Series.objects.using(using).filter(biz_type=biz_type.pk).exclude(biz_id="").order_by("name").first()
    if series is None or not chooses:
        return {}
    text = _(
        "The jobs of the series %(name)s have a biz id, and several are live at once: take it from the series first."
    )
    return {"one_live": text % {"name": series.name}}


def _about_follow_ups(biz_type: BizType) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in FOLLOW_UPS:
        code = getattr(biz_type, name)
        if code and not is_code(code):
            found[name] = _("This must be the code of a biz type of the same tenant.")
    if not found and (way := follow_up_loop(biz_type, using=biz_type._state.db or router.db_for_read(BizType))):
        field = next(name for name in FOLLOW_UPS if getattr(biz_type, name) == way[1])
        found[field] = _("These follow-ups lead back to where they begin: %(way)s.") % {"way": " → ".join(way)}
    return found


def secret_complaint(secret: str) -> str | None:
    """Why callbacks cannot be signed with that secret; None where they can be."""
    try:
        key_of(secret)
    except ValueError as error:
        return str(error)
    return None


def auth_complaint(auth: str, secret: str) -> str | None:
    """Why callbacks cannot be authorized with those credentials; None where they can be.

    Args:
        auth: how: a value of ``BizType.Auth``.
        secret: the credentials; '' for none.
    """
    if auth == BizType.Auth.NONE:
        return None
    if not secret:
        return _("Type the credentials, or choose 'none'.")
    if len(secret) > LONGEST_SECRET:
        too_long = _("The credentials may have %(most)s characters, these have %(number)s: few receivers take more.")
        return too_long % {"most": LONGEST_SECRET, "number": len(secret)}
    if auth == BizType.Auth.BEARER and not _TOKEN.match(secret):
        return _("The token may hold letters, digits and other signs of ASCII, and no blanks.")
    is_basic, is_one_line = auth == BizType.Auth.BASIC, not _CONTROL.search(secret)
    if is_basic and not (is_one_line and ":" in secret):
        return _("Write user:password, in one line.")
    return None if is_one_line else _("Write the client's secret, in one line.")


def must_type_credentials(before: BizType, after: BizType) -> str | None:
    """Why the stored credentials may not be sent by the edited biz type; None where they may be.

    Who may edit a biz type could otherwise send them to a server of their own.
    """
    if origin_of(before.url) != origin_of(after.url):
        return _("The address leads to another host, port or scheme: type the credentials for it.")
    if before.token_url != after.token_url:
        return _("The token server has another address: type the client's secret for it.")
    if before.auth != after.auth:
        return _("The credentials were for another kind of authorization: type those for this one.")
    return None


def credentials_complaint(before: BizType, after: BizType, *, typed: str) -> str | None:
    """Why the edited biz type has no credentials that it may send; None where it has, or needs none.

    Args:
        before: the biz type as it is stored.
        after: the same as it would be stored.
        typed: new credentials; '' where the stored ones are to stay.
    """
    if typed or not before.auth_secret_sealed:
        return auth_complaint(after.auth, typed)
    return None if after.auth == BizType.Auth.NONE else must_type_credentials(before, after)


def _about_target(biz_type: BizType) -> dict[str, str]:
    match biz_type.target:
        case BizType.Target.HTTP:
            return _about_address(biz_type)
        case BizType.Target.PULL if biz_type.timeout_seconds < 1:
            return {"timeout_seconds": _("A claim lasts a second at least.")}
        case BizType.Target.CELERY:
            return _about_task(biz_type)
    return {}


def _about_task(biz_type: BizType) -> dict[str, str]:
    if not biz_type.task_name:
        return {"task_name": "Name the Celery task to run."}
    found = {"max_attempts": attempts_complaint(biz_type)}
    # Only for those who choose them: what is stored and was allowed once is refused where it would run.
    if _chooses(biz_type, "target", "task_name"):
        found["task_name"] = task_complaint(biz_type)
    if _chooses(biz_type, "target", "task_name", "task_queue"):
        found["task_queue"] = queue_complaint(biz_type)
    return {name: message for name, message in found.items() if message is not None}


def _chooses(biz_type: BizType, *fields: str) -> bool:
    """Whether one of the fields is not as it is stored."""
    if not biz_type.pk:
        return True
    using = biz_type._state.db or router.db_for_read(BizType)
    given = {name: getattr(biz_type, name) for name in fields}
    return not BizType.objects.using(using).filter(pk=biz_type.pk, **given).exists()


def _about_address(biz_type: BizType) -> dict[str, str]:
    if not biz_type.url:
        return {"url": _("Give the address that callbacks go to.")}
    message = AddressGuard(options().allowed_networks).complaint(biz_type.url)
    return {"url": message} if message else _about_hosts(biz_type.url_hosts) | token_complaints(biz_type)


def _about_hosts(hosts: str) -> dict[str, str]:
    try:
        host_patterns(hosts)
    except BadUrl as error:
        return {"url_hosts": str(error)}
    return {}


def _about_owner(biz_type: BizType) -> dict[str, str]:
    found: dict[str, str] = {}
    for address in mail_addresses(biz_type.owner_mail):
        if not _is_mail_address(address):
            found["owner_mail"] = _("%(address)s is no mail address; write commas between several.") % {
                "address": address
            }
    message = owner_webhook(biz_type.owner_url).complaint if biz_type.owner_url else None
    return found | ({"owner_url": message} if message else {})


def mail_addresses(text: str) -> list[str]:
    """The mail addresses in a text, which has commas between them."""
    return [address.strip() for address in text.split(",") if address.strip()]


def _is_mail_address(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def _about_headers(headers: Any) -> str | None:
    if not isinstance(headers, dict):
        return _('This must be a JSON object, such as {"X-Team": "orders"}.')
    for name, value in headers.items():
        if name.lower() in CREDENTIAL_HEADERS:
            text = _("%(name)s would be stored and shown as it is: choose an authorization, and use the auth secret.")
            return text % {"name": name}
        if message := header_complaint(name, value):
            return message
    size = sum(len(name) + len(value) + 4 for name, value in headers.items())
    if size > LONGEST_HEADERS:
        return _("The headers may have %(most)s bytes in all, these have %(number)s: few receivers take more.") % {
            "most": LONGEST_HEADERS,
            "number": size,
        }
    return None


def header_complaint(name: str, value: Any) -> str | None:
    """Why callbacks cannot have that header; None where they can."""
    if not _HEADER_NAME.match(name):
        return _("%(name)r cannot be a header's name.") % {"name": name}
    if name.lower() in RESERVED_HEADERS or name.lower().startswith(RESERVED_PREFIXES):
        return _("%(name)s is set by the delivery itself.") % {"name": name}
    if not isinstance(value, str) or re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value) or not value.isascii():
        return _("The value of %(name)s must be one line of ASCII text.") % {"name": name}
    return None


def _about_backoff_list(biz_type: BizType) -> str | None:
    seconds = biz_type.backoff_list
    fits = isinstance(seconds, list) and all(
        isinstance(entry, (int, float)) and not isinstance(entry, bool) and 0 <= entry <= LONGEST_BACKOFF_SECONDS
        for entry in seconds
    )
    if not fits:
        return _("This must be a list of seconds, such as [10, 60, 600].")
    if biz_type.backoff == BizType.Backoff.LIST and not seconds:
        return _("Give at least one wait, such as [60].")
    return None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
