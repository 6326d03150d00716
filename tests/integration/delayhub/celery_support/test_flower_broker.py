"""Flower's broker page: how long the queues of our brokers are; all other brokers are Flower's own affair."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from flower.utils.broker import Broker, Redis

from delayhub.celery_support.flower_broker import DelayHubBroker, install
from delayhub.engine import DelayQueue, Entry
from delayhub.engine.entry import MAX_DUE_MS


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Broker, "__new__", Broker.__new__)  # put back afterwards
    install()
    return


def test_a_queue_is_shown_in_the_columns_that_flower_has(broker: str, queue: DelayQueue) -> None:
    queue.schedule([Entry("a"), Entry("b"), Entry("later", MAX_DUE_MS)])
    queue.claim(1)

    (row, other) = asyncio.run(Broker(broker).queues(["celery", "nothing-here"]))

    assert row == {"name": "celery", "messages": 3, "messages_ready": 1, "messages_unacknowledged": 1}
    assert other["messages"] == 0


@pytest.mark.parametrize("scheme", ["delayhub", "delayhubs", "delayhub-sentinel"])
def test_our_schemes_have_our_broker(scheme: str) -> None:
    assert type(Broker(f"{scheme}://127.0.0.1:1/0")) is DelayHubBroker


def test_other_schemes_have_the_one_they_had() -> None:
    assert type(Broker("redis://127.0.0.1:1/0")) is Redis


def test_the_apps_own_options_reach_the_broker(broker: str, queue: DelayQueue) -> None:
    queue.schedule([Entry("a")])

    (row,) = asyncio.run(Broker(broker, broker_options={"global_keyprefix": "shop:"}).queues(["celery"]))

    assert row["messages"] == 0
