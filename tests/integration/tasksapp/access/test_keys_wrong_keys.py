"""An address that sends many wrong keys is asked to wait, and is named in the log once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tasksapp.access.keys import MOST_WRONG, WRONG_SECONDS, count_wrong_key, forget_wrong_keys


@pytest.fixture(autouse=True)
def _none_counted() -> Iterator[None]:
    forget_wrong_keys()
    yield
    forget_wrong_keys()


def test_after_too_many_the_address_waits_and_the_log_names_it_once(caplog: pytest.LogCaptureFixture) -> None:
    waits = [count_wrong_key("192.0.2.1") for _ in range(MOST_WRONG + 5)]

    assert waits[:MOST_WRONG] == [0] * MOST_WRONG
    assert all(0 < wait <= WRONG_SECONDS for wait in waits[MOST_WRONG:])
    assert count_wrong_key("192.0.2.2") == 0
    (warning,) = caplog.records
    assert f"192.0.2.1 sent {MOST_WRONG} wrong API keys" in warning.getMessage()
