"""A token server that gives none holds its biz type: no attempt is used, one job tries, the receiver hears nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from delayhub.clock import now_by
from delayhub.engine import SystemClock, TimerLane
from tasksapp.biz_types.failure_counter import FailureCounter
from tasksapp.biz_types.holds import holds, open_breakers
from tasksapp.jobs.creation import JobRequest, create, create_many
from tasksapp.models import Attempt, BizType, Job, Status
from tasksapp.timers.lanes import client, without_redis
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.delivery_runtime import delivery_runtime
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering
from tests.integration.tasksapp.token_server import bearers, giving, saying

pytestmark = pytest.mark.django_db(transaction=True)

JOBS = 5


@pytest.fixture(autouse=True)
def _brief(settings: Any, _private_redis: None) -> None:
    # Long enough for what is looked at meanwhile on a busy machine.
    settings.DELAYHUB = {**settings.DELAYHUB, "BREAKER_SECONDS": 5}


@pytest.fixture
def server() -> Iterator[Receiver]:
    """A token server that refuses the client, and repeats its secret."""
    with Receiver(answer=saying({"error": "invalid_client", "error_description": "hush-hush"}, status=401)) as started:
        yield started


@pytest.fixture
def biz_type(make_biz_type: MakeBizType, receiver: Receiver, server: Receiver) -> BizType:
    """A biz type whose callbacks carry tokens of that server."""
    return make_biz_type(
        "shop", url=receiver.url(), auth="oauth2", auth_secret="hush-hush", token_url=server.url(), client_id="us"
    )


def until_gate_opens(lane: TimerLane) -> None:
    """Returns when the pause is over."""
    state = lane.client.get(lane.keys.queue("shop").token_breaker)
    assert isinstance(state, bytes)
    deadline = SystemClock().monotonic() + 60
    while delivery_runtime().clock.now_ms() <= int(state.split(b":")[1]):
        assert SystemClock().monotonic() < deadline
        threading.Event().wait(0.02)


def test_jobs_wait_unspent_one_tries_and_all_go_when_there_is_a_token(
    biz_type: BizType, receiver: Receiver, server: Receiver, fire: Fire, lane: TimerLane
) -> None:
    create_many([JobRequest(biz_type="shop") for _ in range(JOBS)])
    reason = f"no access token from 127.0.0.1:{server.port}: status 401 (invalid_client)"

    # one question for all of them, and nothing is sent
    assert len(fire()) == JOBS
    assert fire() == []
    assert len(server.received) == 1
    assert receiver.received == []
    said = Job.objects.values_list("status", "attempts", "system_errors", "last_error", "error_class").distinct()
    assert list(said) == [(Status.PENDING, 0, 0, reason, "returned")]
    assert not Attempt.objects.exists()

    # pages say so, and the receiver's own breaker is closed
    now = now_by(delivery_runtime().clock)
    assert reason.removeprefix("no ") in holds([biz_type], now=now)["shop"]
    assert (open_breakers([biz_type]) or {})["shop"].no_token == reason.removeprefix("no access token from ")
    assert lane.client.get(lane.keys.queue("shop").breaker) is None

    # its time is over: one at a time tries it
    until_gate_opens(lane)
    assert len(fire()) == 1
    assert fire() == []
    assert len(server.received) == 2

    # there is a token
    server.answer = giving()
    until_gate_opens(lane)
    assert len(fire()) == 1
    assert len(fire()) == JOBS - 1
    assert set(bearers(receiver)) == {"token-1"}
    assert len(server.received) == 3
    assert set(Job.objects.values_list("status", "attempts")) == {(Status.SUCCEEDED, 1)}
    assert open_breakers([biz_type]) == {}


def test_a_job_that_may_run_once_is_given_back_with_its_attempt(
    biz_type: BizType, server: Receiver, fire: Fire
) -> None:
    BizType.objects.update(guarantee=BizType.Guarantee.AT_MOST_ONCE)
    create("shop")

    fire()

    assert list(Job.objects.values_list("status", "attempts", "system_errors")) == [(Status.PENDING, 0, 0)]


def test_neither_secret_nor_token_stands_in_a_row_a_log_or_in_redis(
    biz_type: BizType, receiver: Receiver, server: Receiver, fire: Fire, lane: TimerLane, caplog: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    create("shop")
    fire()
    server.answer = giving()
    until_gate_opens(lane)
    receiver.answer = answering(503)
    fire()

    assert bearers(receiver) == ["token-1"]
    rows = [*Job.objects.values(), *Attempt.objects.values(), *BizType.objects.values()]
    kept = [_held(lane.client, key) for key in lane.client.scan_iter()]
    everything = f"{rows} {kept} {caplog.text} {caplog.records}"
    assert "no access token" in everything
    assert "hush-hush" not in everything
    assert "token-1" not in everything


def test_what_a_process_says_of_an_older_secret_holds_nothing(biz_type: BizType, lane: TimerLane) -> None:
    clock = RedisClock(client)
    clock.sync()
    BizType.objects.update(auth_secret_sealed="another")

    is_open = FailureCounter().record(biz_type, failed=0, succeeded=False, now_ms=clock.now_ms(), no_token="why")

    assert not is_open
    assert lane.client.get(lane.keys.queue("shop").token_breaker) is None


def test_a_job_with_an_authorization_of_its_own_neither_asks_for_a_token_nor_says_that_there_is_one(
    biz_type: BizType, receiver: Receiver, server: Receiver, fire: Fire, lane: TimerLane
) -> None:
    create("shop")
    fire()
    create("shop", request={"headers": {"Authorization": "Bearer mine"}})
    until_gate_opens(lane)

    assert len(fire()) == 1

    assert bearers(receiver) == ["mine"]
    assert len(server.received) == 1
    assert (open_breakers([biz_type]) or {})["shop"].no_token
    # So the next one is the one that tries.
    assert len(fire()) == 1
    assert len(server.received) == 2


def test_without_redis_a_process_tries_with_one_job_as_well(biz_type: BizType) -> None:
    failures = FailureCounter()
    with without_redis():
        is_open = failures.record(biz_type, failed=0, succeeded=False, now_ms=1, no_token="why")

        assert failures.probes("shop") == 0
        failures.record(biz_type, failed=0, succeeded=True, now_ms=2, no_token=None)  # with an Authorization of its own
        still = failures.probes("shop")
        failures.record(biz_type, failed=0, succeeded=True, now_ms=3, no_token="")

    assert is_open
    assert still == 0
    assert failures.probes("shop") is None


def test_a_biz_type_without_tokens_asks_redis_no_more_than_before(
    make_biz_type: MakeBizType, receiver: Receiver, fire: Fire, lane: TimerLane
) -> None:
    make_biz_type("plain", url=receiver.url())
    create_many([JobRequest(biz_type="plain") for _ in range(3)])
    asked: list[str] = []
    with lane.client.monitor() as monitor:
        fire()
        lane.client.echo("that was all")
        for line in monitor.listen():
            if "that was all" in line["command"]:
                break
            asked.append(line["command"])

    sent = [command for command in asked if not command.startswith(("EVAL ", "SCRIPT ", "FUNCTION "))]
    assert [command for command in sent if "access_token" in command or "token_" in command] == []
    assert [command for command in sent if command.upper().startswith("MGET")] == [
        f"MGET {lane.keys.queue('plain').breaker}"
    ]


def _held(client: redis.Redis, key: bytes) -> Any:
    read = {b"string": client.get, b"hash": client.hgetall}.get(client.type(key))
    return read(key) if read else key
