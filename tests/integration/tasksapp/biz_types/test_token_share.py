"""Access tokens that processes share through Redis: sealed, for one grant, asked for by one of them."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import redis

from delayhub.engine import SystemClock, TimerLane
from tasksapp.biz_types.token_share import RedisTokenShare
from tasksapp.delivery.access_token import AccessToken, Grant, NoToken
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.token_keeper import TokenKeeper
from tasksapp.timers.lanes import without_redis
from tests.integration.tasksapp.receiver import Receiver
from tests.integration.tasksapp.token_server import giving
from tests.property_sizes import examples

NOW = SystemClock().now_ms()
GRANT = Grant(
    url="https://login.example/token", client_id="us", secret="hush-hush", receiver="https://x",
    lane="delayhub.timers", queue="order.close",
)  # fmt: skip
TOKEN = AccessToken("the-token", made_ms=NOW, ends_ms=NOW + 3_600_000)

PROCESSES = 8


@pytest.fixture
def share() -> RedisTokenShare:
    return RedisTokenShare(SystemClock())


def test_what_is_left_is_found_for_that_grant_until_its_end_and_is_sealed(
    share: RedisTokenShare, lane: TimerLane, redis_client: redis.Redis
) -> None:
    assert share.look(GRANT) is None
    share.leave(GRANT, TOKEN)

    key = lane.keys.queue("order.close").access_token
    assert share.look(GRANT) == TOKEN
    assert share.look(replace(GRANT, secret="new")) is None
    assert share.look(replace(GRANT, queue="other")) is None
    assert 0 < redis_client.pttl(key) <= 3_600_000
    kept = redis_client.get(key)
    assert isinstance(kept, bytes)
    assert b"the-token" not in kept
    assert b"hush" not in kept


def test_why_there_is_none_is_left_too(share: RedisTokenShare, redis_client: redis.Redis) -> None:
    share.leave(GRANT, NoToken("status 503", until_ms=NOW + 3_600_000))

    found = share.look(GRANT)

    assert isinstance(found, NoToken)
    assert (found.reason, found.until_ms) == ("status 503", NOW + 3_600_000)


def test_one_of_them_asks_until_it_has_found_something_or_died(
    share: RedisTokenShare, lane: TimerLane, redis_client: redis.Redis
) -> None:
    assert share.lock(GRANT, seconds=15)
    assert not share.lock(GRANT, seconds=15)
    assert 10_000 < redis_client.pttl(lane.keys.queue("order.close").token_lock) <= 15_000

    share.leave(GRANT, None)

    assert share.lock(GRANT, seconds=15)


def test_a_process_whose_keys_do_not_open_it_finds_nothing(
    share: RedisTokenShare, redis_client: redis.Redis, settings: Any
) -> None:
    share.leave(GRANT, TOKEN)
    settings.SECRET_KEY = "another" * 8

    assert share.look(GRANT) is None


def test_without_redis_each_process_asks_for_itself(share: RedisTokenShare, redis_client: redis.Redis) -> None:
    with without_redis():
        assert share.look(GRANT) is None
        assert share.lock(GRANT, seconds=15)
        share.leave(GRANT, TOKEN)

    assert share.look(GRANT) is None


def test_ten_thousand_callbacks_of_eight_processes_ask_for_one_token(
    receiver: Receiver, redis_client: redis.Redis
) -> None:
    receiver.answer = giving()
    grant, each = replace(GRANT, url=receiver.url()), examples(125)
    forked = multiprocessing.get_context("fork")
    answers = forked.SimpleQueue()
    workers = [forked.Process(target=_want, args=(grant, each, answers)) for _ in range(PROCESSES)]

    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    got: Counter[str] = sum((Counter(answers.get()) for _ in workers), Counter())
    assert got == {"token-1": PROCESSES * each}
    assert len(receiver.received) == 1


def _want(grant: Grant, number: int, answers: Any) -> None:
    """So many callbacks of one process want the token at the same time."""

    async def run() -> dict[str, int]:
        guard, clock = AddressGuard(("127.0.0.0/8",)), SystemClock()
        keeper = TokenKeeper(guard=guard, clock=clock, share=RedisTokenShare(clock), hold_seconds=30)
        try:
            tokens = await asyncio.gather(*(keeper.token(grant) for _ in range(number)))
            return dict(Counter(token.value for token in tokens))
        finally:
            await keeper.close()

    answers.put(asyncio.run(run()))
