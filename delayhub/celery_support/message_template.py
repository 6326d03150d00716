"""A task's message as text with gaps: what differs from one call of the task to the next is filled in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from celery.utils.saferepr import saferepr
from kombu import serialization
from kombu.exceptions import EncodeError
from kombu.utils import json as kombu_json

from delayhub.engine import Entry
from delayhub.transport.channel import Channel
from delayhub.transport.compact import packed, token_of
from delayhub.transport.envelope import Message, ids_of

#: Stand in the first message, in place of its id and of what is filled in; nothing else in a message is like them.
ID, BODY, ARGS, KWARGS = (f"delayhub-gap-{os.urandom(16).hex()}" for _ in range(4))

#: The longest that Celery's ``argsrepr`` is.
REPR_LENGTH = 1024
#: Values that Celery shows as Python does.
PLAIN = frozenset({int, float, bool, type(None)})

_registry: Any = serialization.registry  # type: ignore[attr-defined]  # its types forget it
_quote = json.encoder.encode_basestring_ascii


class Unfit(Exception):
    """Messages of this kind are not made from a template."""


class Call(NamedTuple):
    """The arguments of one call of a task."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any]


class MessageTemplate:
    """Makes entries like that of a message which Celery and kombu have made.

    Args:
        message: the message of a call whose task id is :data:`ID`.
        call: its arguments.
        channel: the channel that would have stored it.
        has_reprs: whether messages have ``argsrepr`` and ``kwargsrepr``, by which people are shown their arguments.

    Raises:
        Unfit: the message has something that a template has not: another serializer, compression, stamps.
    """

    def __init__(self, message: Message, call: Call, *, channel: Channel, has_reprs: bool) -> None:
        self.has_reprs = has_reprs
        self.embed = require_plain(message)[2]
        self.encode = kombu_json.JSONEncoder().encode
        headers, properties = message["headers"], {**message["properties"], "delivery_tag": ID}
        gaps = {"argsrepr": ARGS, "kwargsrepr": KWARGS}
        gapped = {**message, "body": BODY, "headers": {**headers, **gaps}, "properties": properties}
        first = channel.entry(gapped, is_compact=False)
        self.ids, self.is_compact = ids_of(gapped), channel.options.compact
        self.due_ms, self.step = first.due_ms, first.step
        text = first.payload.decode().replace("%", "%%").replace(ID, "%(id)s")
        for gap, name in ((BODY, "body"), (ARGS, "args"), (KWARGS, "kwargs")):
            text = text.replace(f'"{gap}"', f"%({name})s")
        self.text = text
        shown = {} if has_reprs else {"argsrepr": "", "kwargsrepr": ""}
        made = channel.entry({**message, "headers": {**headers, **shown}, "properties": properties})
        if self.entry(ID, call) != made:
            raise Unfit("it differs from what Celery makes")

    def entry(self, task_id: str, call: Call) -> Entry:
        """The entry of one more call; its publish token is its id, which no other publish has.

        Raises:
            EncodeError: an argument cannot be JSON.
        """
        try:
            body = self.encode((call.args, call.kwargs, self.embed))
        except (TypeError, ValueError, RecursionError) as error:
            raise EncodeError(f"{type(error).__name__}: {error}") from error
        args, kwargs = (shown_args(call.args), shown_kwargs(call.kwargs)) if self.has_reprs else ("", "")
        payload = self.text % {
            "id": task_id,
            "body": _quote(body),
            "args": _quote(args),
            "kwargs": _quote(kwargs),
        }
        if self.is_compact:
            ids = [task_id if one == ID else one for one in self.ids]
            compact = packed(payload.encode(), ids=ids, delivery_tag=task_id)
            if compact is not None:
                return Entry(task_id, self.due_ms, compact, self.step, publish_token=token_of(task_id))
        return Entry(task_id, self.due_ms, payload.encode(), self.step, publish_token=task_id)


def require_plain(message: Message) -> list[Any]:
    """The body of a task's message. Raises Unfit where it is not as Celery makes it with its JSON serializer."""
    headers = message["headers"]
    codec = _registry._encoders.get("json")
    if codec is None or codec.encoder is not kombu_json.dumps or message["content-type"] != "application/json":
        raise Unfit("another serializer")
    if "compression" in headers or headers.get("stamped_headers"):
        raise Unfit("compression, or stamps")
    if headers.get("id") != ID or not {"argsrepr", "kwargsrepr"} <= headers.keys():
        raise Unfit("no message of protocol 2")
    body: list[Any] = json.loads(message["body"])
    return body


def shown_args(args: Sequence[Any]) -> str:
    """The arguments as Celery shows them."""
    if all(type(value) in PLAIN for value in args):
        shown = repr(args)
        if len(shown) < REPR_LENGTH:
            return shown
    return str(saferepr(args, REPR_LENGTH))


def shown_kwargs(kwargs: Mapping[str, Any]) -> str:
    """The keyword arguments as Celery shows them."""
    return str(saferepr(kwargs, REPR_LENGTH)) if kwargs else "{}"


def new_ids(count: int) -> list[str]:
    """So many task ids, of the form that Celery's have, from one call of the system's source of chance."""
    chance = os.urandom(16 * count).hex()
    cut = (chance[at : at + 32] for at in range(0, 32 * count, 32))
    # A UUID's version is 4; its variant is one of 8, 9, a, b.
    return [f"{d[:8]}-{d[8:12]}-4{d[13:16]}-{'89ab'[int(d[16], 16) & 3]}{d[17:20]}-{d[20:]}" for d in cut]
