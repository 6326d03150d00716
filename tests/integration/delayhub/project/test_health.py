"""What load balancers hear about the database and Redis."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from delayhub.local.redis_server import RedisServer

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("broker_url", "said"),
    [
        ("delayhub://127.0.0.1:{port}/0", "ok"),
        ("delayhub://127.0.0.1:1/0", "ConnectionError"),
        # sentinels cannot be asked for what only a server answers
        ("delayhub-sentinel://127.0.0.1:{port}", "OptionError"),
    ],
)
def test_redis_is_reported_and_does_not_take_the_process_out_of_service(
    client: Client, settings: Any, redis_server: RedisServer, broker_url: str, said: str
) -> None:
    settings.BROKER_URL = broker_url.format(port=redis_server.port)

    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "redis": said}
