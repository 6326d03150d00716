"""How long the Python client waits before it sends a request again."""

from __future__ import annotations

import pytest

from delayhub.client import Unreachable
from delayhub.client.answer import LONGEST_PAUSE, Retrying


@pytest.mark.parametrize("failures", [1, 5, 1_024, 1_025, 10_000])
def test_a_pause_is_bounded_however_often_a_request_has_failed(failures: int) -> None:
    retrying = Retrying(retries=20_000, most_wait_seconds=60)
    away = Unreachable("GET /api/v1/jobs", "away", was_sent=False)

    pause = retrying.pause(away, repeatable=True, failures=failures)

    assert pause is not None
    assert 0 <= pause <= LONGEST_PAUSE
