from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.test import Client

from tasksapp.api.http.authentication import forget_known_keys
from tasksapp.models import ApiKey, BizType
from tasksapp.timers import lanes

Ask = Callable[..., Any]


@pytest.fixture
def key(db: None) -> Iterator[str]:
    """An API key."""
    forget_known_keys()
    yield ApiKey.objects.issue("caller").key
    forget_known_keys()


@pytest.fixture
def biz_type(db: None) -> BizType:
    return BizType.objects.create(code="order.close", url="https://receiver.example/hook")


@pytest.fixture
def ask(key: str, client: Client, redis_client: redis.Redis, settings: Any) -> Ask:
    """Asks the API: method, path below /api/v1, JSON body; gives the response."""
    url = redis_client.connection_pool.connection_kwargs
    address = f"redis://127.0.0.1:{url['port']}/0"
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": address, "ARM_TIMEOUT_SECONDS": 5.0}
    # Another test's Redis may have been away a moment ago, after which arming rests.
    lanes.try_again()

    def ask(method: str, path: str, body: Any = None, **headers: str) -> Any:
        options: dict[str, Any] = {"headers": {"authorization": f"Bearer {key}", **headers}}
        if method != "GET":
            options |= {"data": b"" if body is None else body, "content_type": "application/json"}
        return getattr(client, method.lower())(f"/api/v1{path}", **options)

    return ask
