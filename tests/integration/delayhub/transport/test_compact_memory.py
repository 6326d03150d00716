"""What a waiting task takes of Redis, plain and compact, is what the pages say, and they say one thing."""

from __future__ import annotations

import re

import celery
import pytest
import redis

import delayhub
from delayhub.local.redis_server import RedisServer
from tests.celery_versions import needs_batches
from tests.repository import ROOT

COMPARISON = (ROOT / "docs/explanation/comparison.md").read_text()
[FIGURES] = re.findall(
    r"^\| Redis, a message with an eta, bytes \| ([\d ]+) \| \*\*(\d+)\*\* \|", COMPARISON, re.MULTILINE
)
PLAIN, COMPACT = FIGURES
MESSAGES = 2_000


@needs_batches
@pytest.mark.parametrize(("compact", "said"), [(False, PLAIN), (True, COMPACT)])
def test_a_task_with_an_eta_takes_what_the_pages_say(
    compact: bool, said: str, redis_client: redis.Redis, redis_server: RedisServer
) -> None:
    app = celery.Celery("shop", broker=f"delayhub://127.0.0.1:{redis_server.port}/0", set_as_current=False)
    app.conf.broker_transport_options = {"compact": compact}
    delayhub.install(app)

    @app.task(name="shop.close_order", shared=False)
    def close_order(order: str) -> None:
        """Is never run."""

    delayhub.publish_many(close_order, [(f"order-{number}",) for number in range(MESSAGES)], countdown=86_400)

    used = sum(int(redis_client.memory_usage(key, samples=0) or 0) for key in redis_client.keys("*"))
    assert used / MESSAGES == pytest.approx(int(said.replace(" ", "")), rel=0.15)


@pytest.mark.parametrize("page", ["celery/many.md", "celery/broker.md", "questions.md"])
def test_pages_quote_the_figures_of_the_comparison(page: str) -> None:
    [quoted] = re.findall(r"(\d \d{3}) bytes[^.|]*?\b(\d{3})\b[^|]*compact", (ROOT / "docs" / page).read_text())

    assert quoted == (PLAIN, COMPACT)
