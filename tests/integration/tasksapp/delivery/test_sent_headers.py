"""What is kept of a request's headers: all can be built again as they were sent, in order, secrets masked."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from tasksapp.delivery.outcomes import CallbackResult
from tasksapp.delivery.sent_headers import SIGNATURE, shown_again
from tasksapp.delivery.sent_request import MASK
from tests.callbacks import callback
from tests.integration.tasksapp.delivery.raw_receiver import listening, noting, sending

SECRET = "whsec_" + "c2VjcmV0" * 4
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

TARGETS: dict[str, dict[str, Any]] = {
    "plain": {},
    "signed": {"secrets": (SECRET,)},
    "signed by two": {"secrets": (SECRET, SECRET)},
    "bearer": {"authorization": "Bearer t0ken"},
    "basic": {"authorization": "Basic dTpw", "secrets": (SECRET,)},
    "put": {"method": "PUT"},
    "another biz type": {"biz_type": "order.close"},
    "headers": {"headers": (("X-Team", "blue"), ("A", "1"), ("X-Much-Longer", "ö"))},
    "secret headers": {"headers": (("X-Api-Key", "s3cret"), ("X-Team", "blue")), "authorization": "Bearer t0ken"},
    "its own accept": {"headers": (("accept", "text/plain"), ("X-Team", "blue"))},
    "its own host": {"headers": (("Host", "shop.example"), ("X-Team", "blue"))},
    "names that we replace": {"headers": (("user-agent", "mine"), ("Content-type", "text/plain"), ("X-Team", "blue"))},
    "its own authorization": {"headers": (("authorization", "Bearer t0ken"), ("X-Team", "blue"))},
    "replaced authorization": {"headers": (("Authorization", "Bearer old"), ("X", "1")), "authorization": "Bearer new"},
}
CALLBACKS: dict[str, dict[str, Any]] = {
    "first": {},
    "redriven": {"redrives": 2, "attempt": 3, "max_attempts": 7},
    "traced": {"traceparent": TRACE},
    "test": {"is_test": True},
    "late": {"run_at_ms": 1_000_000, "due_ms": 999_999, "traceparent": TRACE, "redrives": 1},
    "without body": {"body": b""},
}


@pytest.mark.parametrize("fields", CALLBACKS.values(), ids=CALLBACKS)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_headers_are_built_again_from_their_record(target: dict[str, Any], fields: dict[str, Any]) -> None:
    result, sent = exchanged("/hook?token=s3cret&shop=1", target, fields)

    stored = json.loads(json.dumps(result.request_headers))
    built = shown_again(
        stored,
        line=result.request_line,
        job_id=result.callback.job_id,
        started_ms=result.started_ms,
        lateness_ms=result.lateness_ms,
    )

    assert list(built.items()) == masked(sent)
    assert result.request is not None
    assert result.request.headers == built


def test_most_records_are_short() -> None:
    result, _ = exchanged("/", TARGETS["signed"], CALLBACKS["first"])

    assert len(json.dumps(result.request_headers)) < 90


def test_whole_headers_are_shown_as_they_are() -> None:
    whole = {"Host": "shop.example", "A": "1"}

    assert shown_again(whole, line="", job_id="job-1", started_ms=0, lateness_ms=0) == whole


def exchanged(
    path: str, target: dict[str, Any], fields: dict[str, Any]
) -> tuple[CallbackResult, list[tuple[str, str]]]:
    """What becomes of the callback, and the headers that its receiver got."""
    received: list[bytes] = []

    async def run() -> CallbackResult:
        async with listening(noting(received)) as port, sending() as sender:
            return await sender.send(replace(callback(f"http://127.0.0.1:{port}{path}", **target), **fields))

    result = asyncio.run(run())
    lines = received[0].decode().partition("\r\n\r\n")[0].split("\r\n")[1:]
    return result, [(name, value) for name, _, value in (line.partition(": ") for line in lines)]


def masked(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    secrets = {SIGNATURE: MASK, "X-Api-Key": MASK}
    schemes = {"Bearer", "Basic"}
    shown = []
    for name, value in headers:
        if name.lower() == "authorization":
            assert value.split()[0] in schemes
            shown.append((name, f"{value.split()[0]} {MASK}"))
        else:
            shown.append((name, secrets.get(name, value)))
    return shown
