"""Messages as kombu has them, and as the engine keeps them: JSON bytes, an id, a due time, a priority step."""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from kombu.log import get_logger
from kombu.utils.json import dumps

from delayhub.clock import LAST_MS, moment, runnable_ms
from delayhub.engine import Entry
from delayhub.engine.task_name import FLOW_KEY_HEADER, fault_of
from delayhub.transport.compact import LaterFormat, packed, token_of, unpacked

logger = get_logger(__name__)

#: The header that carries a message's due time in ms; Celery's own ``eta`` would make the worker wait by itself.
DUE_HEADER = "x-delayhub-due"

#: The header, and the field of ``delivery_info``, of a message that was delivered before; kombu's name for it.
REDELIVERED = "redelivered"

#: Length of the delivery tags that kombu makes: random, so that no two publishes have the same.
TOKEN_LENGTH = 36

#: A later expiry is taken for this one, a year before the calendar ends: each time zone has a date for it.
LAST_EXPIRY_MS = LAST_MS - 366 * 86_400_000
_UNREADABLE_EXPIRY = re.compile(r"0001|9999|.*[+-]\d\d:\d\d:\d\d")

#: Longest task id, in characters, that becomes an entry's id; an entry with a longer one is named by its delivery tag.
MAX_ID = 128

Message = dict[str, Any]


class Unreadable(ValueError):
    """A payload is not a message that kombu wrote."""


class Later(Unreadable):
    """A payload was written by a later release, which other workers may have already."""


def to_entry(message: Message, *, priority_steps: Sequence[int], is_compact: bool = False) -> Entry:
    """The entry that keeps a message.

    The eta is taken out on a copy and set to None: the same dict goes to every queue of an exchange, a failed put is
    tried again with it, and receivers of ``task_sent`` read the key.

    Args:
        message: as kombu makes it.
        priority_steps: the lowest priority of each step, as the transport option of that name.
        is_compact: store it in the compact form, where it has one.

    Raises:
        ValueError: the eta is no date and time.
        EntryError: the eta lies beyond what can be stored.
    """
    headers = message.get("headers") or {}
    properties = message["properties"]
    due = 0
    if REDELIVERED in headers and not properties.get("delivery_info", {}).get(REDELIVERED):
        # A retry inherits this too, but it is a message of its own, which was never delivered.
        headers = {name: value for name, value in headers.items() if name != REDELIVERED}
        message = {**message, "headers": headers}
    if (expires := headers.get("expires")) and (readable := _readable(expires)) is not expires:
        headers = {**headers, "expires": readable}
        message = {**message, "headers": headers}
    if DUE_HEADER in headers or headers.get("eta") is not None:
        # A retry inherits our header from the delivery before it; only the eta says when this message is due.
        headers = {name: value for name, value in headers.items() if name != DUE_HEADER}
        if headers.get("eta") is not None:
            due = runnable_ms(moment_of(headers["eta"]))
            headers["eta"] = None
            headers[DUE_HEADER] = due
        message = {**message, "headers": headers}
    delivery_tag = properties["delivery_tag"]
    entry_id = headers.get("id") or ""
    if not isinstance(entry_id, str) or not 0 < len(entry_id) <= MAX_ID or not is_unicode(entry_id):
        entry_id = delivery_tag
    # As in kombu's own transport, a priority before the first step is in the last.
    step = (bisect(priority_steps, _priority(properties)) - 1) % len(priority_steps)
    # The task comes first, so that the engine finds whose limit counts. Readers of JSON do not mind.
    if headers.get("task"):
        headers = first_headers(headers)
    rest = {name: value for name, value in message.items() if name != "headers"}
    payload = dumps({"headers": headers, **rest}, separators=(",", ":")).encode()
    if is_compact:
        compact = packed(payload, ids=ids_of(message), delivery_tag=delivery_tag)
        if compact is not None:
            return Entry(entry_id, due, compact, step, publish_token=token_of(delivery_tag))
    # It is looked for in whole payloads, so a short one, of another transport, might be found by chance.
    token = delivery_tag if len(delivery_tag) >= TOKEN_LENGTH else ""
    return Entry(entry_id, due, payload, step, publish_token=token)


def first_headers(headers: Message) -> Message:
    """The headers of a call, of which the scripts read the first ones: its task, then its flow key where it has one."""
    if headers.get(FLOW_KEY_HEADER) is None:
        return {"task": headers["task"], **headers}
    rest = {name: value for name, value in headers.items() if name != FLOW_KEY_HEADER}
    if (why_not := fault_of(headers[FLOW_KEY_HEADER])) is None:
        return {"task": headers["task"], FLOW_KEY_HEADER: headers[FLOW_KEY_HEADER], **rest}
    logger.warning("a message is stored without its flow key: %s", why_not)
    return {"task": headers["task"], **rest}


def ids_of(message: Message) -> list[object]:
    """The ids in a message, most of which stand there several times."""
    headers, properties = message.get("headers") or {}, message["properties"]
    named = [headers.get(name) for name in ("id", "root_id", "parent_id", "group")]
    return [*named, properties.get("correlation_id"), properties.get("reply_to")]


def is_unicode(name: str) -> bool:
    """Whether a text can be written as UTF-8; half a surrogate pair, which JSON can carry, cannot."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def moment_of(eta: str | datetime) -> datetime:
    """Return the moment that an eta or an expiry names; without a time zone it is in UTC, as in Celery's workers."""
    found = eta if isinstance(eta, datetime) else datetime.fromisoformat(eta)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _readable(expires: Any) -> Any:
    """Return an expiry that Celery's worker can read, at the same moment where there is one.

    It cannot read an offset with seconds, which places had before 1900 or so, and ends at a year that has no dates in
    the app's time zone.
    """
    if not isinstance(expires, str) or not _UNREADABLE_EXPIRY.match(expires):
        return expires
    try:
        return moment(min(runnable_ms(moment_of(expires)), LAST_EXPIRY_MS)).isoformat()
    except ValueError:
        return expires


def to_kombu(message: Message, *, due: datetime | None) -> Message:
    """The message as kombu's own transports keep it: its due time is an eta, for the worker to wait for."""
    headers = {name: value for name, value in message.get("headers", {}).items() if name != DUE_HEADER}
    if due is not None:
        headers["eta"] = due.isoformat()
    return {**message, "headers": headers}


def from_payload(payload: bytes, *, redelivered: bool = False) -> Message:
    """The message in a payload, marked as redelivered where it was delivered before.

    Raises:
        Unreadable: it is no message that kombu wrote.
        Later: it is one, of a later release.
    """
    try:
        message = json.loads(unpacked(payload).decode())
        properties = message["properties"]
        headers = message["headers"] = message.get("headers") or {}
        info = properties["delivery_info"] = properties.get("delivery_info") or {}
        for part in (properties, headers, info):
            part.keys()  # which only an object has
        if redelivered:
            headers[REDELIVERED] = info[REDELIVERED] = True
    except LaterFormat as error:
        raise Later(f"it was written by a later release of DelayHub: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    return dict(message)


def _priority(properties: Message) -> int:
    try:
        return max(0, min(9, int(properties.get("priority") or 0)))
    except (TypeError, ValueError):
        return 0
