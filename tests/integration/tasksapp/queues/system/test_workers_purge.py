"""What is deleted when it is old, and when that last happened."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import redis

from tasksapp.queues.heartbeats import Beat, write_beat
from tasksapp.queues.system.workers import purge_section
from tests.fixture_types import MakeBizType
from tests.redis_time import redis_now_ms


@pytest.mark.django_db
def test_purge_says_how_long_jobs_are_kept_and_what_was_deleted_last(
    make_biz_type: MakeBizType, redis_client: redis.Redis, settings: Any
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "PURGE_ROWS_PER_MINUTE": 0}
    make_biz_type("a", retention=timedelta(days=1))
    make_biz_type("b", retention=None)
    assert purge_section().as_json()["purged_at"] is None
    write_beat(redis_client, Beat(name="w", purged_ms=redis_now_ms(redis_client), purged_jobs=7))

    found = purge_section().as_json()

    assert (found["shortest_seconds"], found["longest_seconds"], found["kept_always"]) == (86_400, 86_400, 1)
    assert found["purged_jobs"] == 7
    assert "Workers delete nothing" in found["warnings"][0]
