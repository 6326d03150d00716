"""What the section of Redis says, also where its user may not ask."""

from __future__ import annotations

from typing import Any

import redis

from delayhub.local.redis_server import RedisServer
from tasksapp.queues.system.servers import redis_section


def test_it_names_version_memory_policy_and_clock(redis_client: redis.Redis) -> None:
    found = redis_section().as_json()

    assert found["server"].split()[0] in {"Redis", "Valkey"}
    assert found["used_memory"] > 0
    assert found["maxmemory_policy"] == "noeviction"
    assert abs(found["clock_offset_ms"]) < 10_000
    assert found["faults"] == []


def test_a_server_that_throws_keys_away_is_a_fault(redis_client: redis.Redis) -> None:
    redis_client.config_set("maxmemory-policy", "allkeys-lru")
    try:
        assert "allkeys-lru" in redis_section().faults[0]
    finally:
        redis_client.config_set("maxmemory-policy", "noeviction")


def test_where_the_user_may_not_call_info_the_rest_is_shown(
    redis_client: redis.Redis, redis_server: RedisServer, settings: Any
) -> None:
    redis_client.execute_command("ACL", "SETUSER", "small", "on", ">pw", "~*", "+@all", "-info", "-config")
    settings.DELAYHUB = {"REDIS_URL": redis_server.url.replace("redis://", "redis://small:pw@")}

    section = redis_section()

    assert "may not call INFO" in section.warnings[0]
    assert "used_memory" not in section.as_json()
    assert "pw" not in str(section.as_json()["address"])
    redis_client.execute_command("ACL", "DELUSER", "small")
