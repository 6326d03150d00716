"""Control commands and events that come to a worker: one that cannot be read is left out."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from delayhub.transport.kombu_channel import hearing


def test_a_malformed_event_is_left_out_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def deliver(raw: Any) -> Any:
        return raw["properties"]["delivery_tag"]

    receive = hearing(deliver)

    assert [receive(raw) for raw in ([], None, 5, {}, {"properties": {"delivery_tag": "7"}})] == [None] * 4 + ["7"]
    assert caplog.text.count("is left out, which cannot be read") == 4


@pytest.mark.parametrize("error", [redis.ConnectionError, redis.TimeoutError, OSError])
def test_a_lost_connection_is_known_all_the_same(error: type[Exception]) -> None:
    def deliver(_: Any) -> None:
        raise error

    with pytest.raises(error):
        hearing(deliver)({})
