"""Our messages decode as kombu's do; only faster where it is kombu's own JSON."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from kombu.exceptions import ContentDisallowed, DecodeError
from kombu.serialization import registry
from kombu.transport import virtual
from kombu.utils import json as kombu_json

from delayhub.transport.message import JSON, Message

BODIES = [
    "[]", "{}", '"text"', "[1, 2.5, null]", '[[], {"a": "ä\\u00e4"}, {"callbacks": null}]', "",
    kombu_json.dumps([datetime(2031, 3, 30, 1, 0, tzinfo=UTC), b"\xff"]),
]  # fmt: skip


class OneChannel:
    """As much of a channel as a message asks for."""

    no_ack_consumers = None

    def decode_body(self, body: Any, encoding: str | None = None) -> Any:
        return body


def message(kind: type[virtual.Message], body: Any, **fields: Any) -> virtual.Message:
    raw = {"body": body, "content-type": JSON, "content-encoding": "utf-8", "headers": {}, **fields}
    return kind({**raw, "properties": {"delivery_tag": "1"}}, channel=OneChannel())


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("accept", [None, {JSON}])
def test_it_decodes_what_kombu_decodes(body: str, accept: set[str] | None) -> None:
    ours, theirs = message(Message, body), message(virtual.Message, body)
    ours.accept = theirs.accept = accept

    assert ours.payload == theirs.payload


@pytest.mark.parametrize("body", ["{", '{"__type__": "unknown", "__value__": 1}', b"\xff\xfe"])
def test_bad_json_raises_what_kombu_raises(body: Any) -> None:
    with pytest.raises(DecodeError):
        message(virtual.Message, body).decode()
    with pytest.raises(DecodeError):
        message(Message, body).decode()


def test_json_that_is_not_accepted_is_refused() -> None:
    refused = message(Message, "[]")
    refused.accept = {"application/x-yaml"}

    with pytest.raises(ContentDisallowed):
        refused.decode()


def test_a_serializer_in_kombus_place_is_asked() -> None:
    try:
        registry.register("json", json.dumps, lambda text: ["mine", json.loads(text)], JSON, "utf-8")

        assert message(Message, "[1]").payload == ["mine", [1]]
    finally:
        registry.register("json", kombu_json.dumps, kombu_json.loads, JSON, "utf-8")
    assert message(Message, "[1]").payload == [1]
