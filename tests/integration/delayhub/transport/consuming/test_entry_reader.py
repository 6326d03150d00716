"""Claimed entries become messages, or go to the dead with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.engine import Claimed, DelayQueue, Entry, Lease
from delayhub.transport.consuming.entry_reader import EntryReader
from delayhub.transport.hooks import Hooks
from tests.fixture_types import Stored
from tests.redis_time import redis_now_ms

GOOD = b'{"body": "[]", "headers": {"id": "t"}, "properties": {"delivery_tag": "1"}}'


class Reader:
    """An entry reader on a real broker, and what it reported."""

    def __init__(self, connection: Any, queue: DelayQueue) -> None:
        self.queue = queue
        self.reported: list[tuple[str, str]] = []
        hooks = Hooks(on_dead=lambda message, reason: self.reported.append((message["headers"]["id"], reason)))
        book = connection.default_channel.book
        self.reader = EntryReader(book, hooks=hooks, max_strikes=3, make_message=lambda raw: raw)

    def read(
        self, payload: bytes, *, strikes: int = 0, revoked: bool = False, leased: bool = True, redelivered: bool = False
    ) -> Any:
        """What becomes of an entry with that payload and so many strikes."""
        self.queue.schedule([Entry("t", payload=payload)])
        (claimed,) = self.queue.claim(1).entries
        leases = [Lease(self.queue.name, self.queue.name, "t", claimed.token)] if leased else []
        entry = Claimed("t", payload, strikes, claimed.token, revoked, redelivered=redelivered)
        return self.reader.read(self.queue.name, entry, leases)

    def dead(self) -> list[str | None]:
        """Why there are dead messages."""
        return [listed.reason for listed in self.queue.list("dead")]


@pytest.fixture
def reader(connection: Any, stored: Stored) -> Reader:
    return Reader(connection, stored("q"))


def test_a_good_message_is_delivered(reader: Reader) -> None:
    message = reader.read(GOOD)

    assert message["headers"] == {"id": "t"}
    assert reader.dead() == []


def test_a_message_that_was_delivered_before_says_so(reader: Reader) -> None:
    assert reader.read(GOOD, redelivered=True)["headers"]["redelivered"] is True


@pytest.mark.parametrize(
    "payload",
    [
        *(b"?", b"[]", b"{}", b'{"properties": []}', b'{"properties": "x"}', b'{"properties": {}, "headers": ["x"]}'),
        b'{"properties": {"delivery_info": ["x"]}}',
    ],
)
def test_what_is_unreadable_is_dead_with_the_reason(payload: bytes, reader: Reader) -> None:
    assert reader.read(payload) is None
    (reason,) = reader.dead()
    assert (reason or "").startswith("unreadable: ")
    assert reader.reported == []


def test_what_only_a_later_release_reads_waits_for_its_workers(
    reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    # compact, of format 2
    assert reader.read(b'{"headers":{"task":"a"' + bytes([0, 22, 0, 1, 0x1F, 2])) is None

    (waiting,) = reader.queue.list("waiting")
    assert waiting.at_ms > redis_now_ms(reader.queue.client) + 50_000
    assert (waiting.strikes, waiting.redelivered, reader.dead()) == (0, False, [])
    assert "later release of DelayHub: format 2" in caplog.text


def test_what_no_process_survives_is_reported_and_then_dead(reader: Reader) -> None:
    assert reader.read(GOOD, strikes=3) is None

    assert reader.dead() == ["lost its process or its lease 3 times"]
    assert reader.reported == [("t", "lost its process or its lease 3 times")]


@pytest.mark.parametrize(
    "exemption",
    [
        # it will be refused by the worker itself, which costs nothing
        {"revoked": True},
        # its claim has deleted it: there is nothing to bury
        {"leased": False},
    ],
)
def test_the_last_strike_does_not_count_for(exemption: dict[str, bool], reader: Reader) -> None:
    assert reader.read(GOOD, strikes=3, **exemption) is not None
    assert reader.reported == []


def test_a_report_that_fails_does_not_keep_a_message_alive(reader: Reader, caplog: pytest.LogCaptureFixture) -> None:
    def fail(message: Any, reason: str) -> None:
        raise OSError("no result backend")

    reader.reader.hooks.on_dead = fail

    assert reader.read(GOOD, strikes=3) is None
    assert len(reader.dead()) == 1


def test_a_reason_is_cut_to_what_a_person_reads(reader: Reader, stored: Stored) -> None:
    reader.queue.schedule([Entry("t", payload=GOOD)])
    (claimed,) = reader.queue.claim(1).entries

    reader.reader.bury("q", [Lease("q", "q", "t", claimed.token)], reason="x" * 9_000)

    assert reader.dead() == ["x" * 500]
