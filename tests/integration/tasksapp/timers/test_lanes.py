"""How Redis is reached: briefly for callers that a person waits for, patiently for the loader, and not at all for a
second after it did not answer. No reply is taken for another's, and no command is sent twice or lost for nothing."""

from __future__ import annotations

import gc
import os
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from celery import Celery, current_app

from delayhub.testing import MovableClock
from tasksapp.timers import lanes
from tasksapp.timers.lanes import (
    REST_SECONDS,
    SILENT_SECONDS,
    brisk_lane,
    client,
    patient_lane,
    patient_lanes,
    tried,
    try_again,
    watched,
)

ECHO = "return ARGV[1]"
COUNT = "return redis.call('INCR', KEYS[1])"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[MovableClock]:
    """The clock of the rest after a failure."""
    made = MovableClock()
    monkeypatch.setattr(lanes, "_clock", made)
    try_again()
    yield made
    try_again()


def fail() -> None:
    raise redis.ConnectionError("refused")


def test_both_kinds_of_lane_see_the_same_timers() -> None:
    brisk_lane("delayhub.timers").ensure("order.close", [("1", 1)])

    assert patient_lane("delayhub.timers").count("order.close") == 1


def test_a_client_is_made_once_for_each_address(settings: Any) -> None:
    first = client()
    assert client() is first

    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    assert client() is not first


def test_a_celery_app_that_nobody_has_any_more_leaves_no_connection(broker: str) -> None:
    before = current_app._get_current_object()
    made = Celery("short", broker=broker)
    client().ping()
    pool = weakref.ref(client().connection_pool)
    before.set_current()
    made.close()
    del made

    gc.collect()

    assert pool() is None


def test_all_lanes_of_the_options_are_there(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "LANES": ["fast", "slow"]}

    assert [lane.name for lane in patient_lanes()] == ["fast", "slow"]


def test_keys_have_the_prefix_of_the_options(settings: Any, redis_client: redis.Redis) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "KEY_PREFIX": "shop:"}

    patient_lane("delayhub.timers").ensure("order.close", [("1", 1)])

    assert all(key.startswith(b"shop:") for key in redis_client.scan_iter())


def test_a_caller_gets_the_answer(clock: MovableClock) -> None:
    assert tried(lambda: 7, action="arm") == 7


@pytest.mark.parametrize("error", [redis.ConnectionError("refused"), redis.TimeoutError("slow"), OSError("unplugged")])
def test_a_failure_of_redis_is_none_and_is_logged(
    error: Exception, clock: MovableClock, caplog: pytest.LogCaptureFixture
) -> None:
    def raise_it() -> None:
        raise error

    assert tried(raise_it, action="arm") is None
    assert str(error) in caplog.text


def test_after_a_failure_redis_is_not_asked_for_a_second(clock: MovableClock) -> None:
    asked: list[str] = []
    tried(fail, action="arm")

    tried(lambda: asked.append("at once"), action="arm")
    clock.advance(seconds=REST_SECONDS + 0.1)
    tried(lambda: asked.append("later"), action="arm")

    assert asked == ["later"]


def test_a_fault_of_the_caller_is_raised(clock: MovableClock) -> None:
    with pytest.raises(ZeroDivisionError):
        tried(lambda: 1 / 0, action="arm")


# ---------------------------------------------------------------- connections


def brisk_client() -> Any:
    """The client of callers that a person waits for."""
    return brisk_lane("delayhub.timers").client


def echo(word: str) -> str:
    """What the server gives back."""
    reply: bytes = brisk_client().execute_command("EVAL", ECHO, 0, word)
    return reply.decode()


def connected() -> str:
    """What the server calls the connection that is used next."""
    return str(brisk_client().client_id())


def test_a_connection_is_used_again_also_after_an_error_reply() -> None:
    assert echo("one") == "one"
    before = connected()
    with pytest.raises(redis.ResponseError):
        brisk_client().execute_command("EVALSHA", "0" * 40, 0)

    assert echo("two") == "two"
    assert connected() == before


def test_a_connection_that_the_server_closed_is_made_anew_without_a_failure(redis_client: redis.Redis) -> None:
    echo("one")
    redis_client.client_kill_filter(skipme=True, _type="normal")

    assert echo("two") == "two"


def test_the_reply_that_came_too_late_is_nobody_elses(redis_client: redis.Redis, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ARM_TIMEOUT_SECONDS": 0.5}
    echo("early")
    redis_client.client_pause(2_000)
    with pytest.raises(redis.TimeoutError):
        echo("late")
    redis_client.client_unpause()

    assert echo("two") == "two"


def test_a_reply_that_was_never_read_is_nobody_elses() -> None:
    # As when a signal handler raises between sending and reading, which is how Celery's soft time limits end a task.
    pool = brisk_client().connection_pool
    connection = pool.get_connection()
    connection.send_command("EVAL", ECHO, 0, "unread")
    assert connection.can_read(timeout=60)
    pool.release(connection)

    assert echo("two") == "two"


def test_a_script_that_was_not_answered_in_time_is_not_sent_again(redis_client: redis.Redis, settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "ARM_TIMEOUT_SECONDS": 0.5}
    echo("early")
    redis_client.client_pause(2_000)
    with pytest.raises(redis.TimeoutError):
        brisk_client().execute_command("EVAL", COUNT, 1, "counted")
    redis_client.client_unpause()

    assert int(redis_client.get("counted") or 0) <= 1
    assert brisk_client().execute_command("EVAL", COUNT, 1, "counted") <= 2


def test_while_redis_is_away_a_lane_is_given_out_all_the_same(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": "redis://127.0.0.1:1/0"}

    client = brisk_client()

    with pytest.raises(redis.ConnectionError):
        client.execute_command("EVAL", ECHO, 0, "nobody hears")


def test_threads_get_their_own_answers_however_many_there_are() -> None:
    words = [f"word {number}" for number in range(300)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(echo, words)) == words


def test_a_web_server_may_have_more_threads_than_redis_py_allows_connections() -> None:
    pool = brisk_client().connection_pool

    taken = [pool.get_connection() for _ in range(101)]

    assert all(connection.can_read() is False for connection in taken)
    for connection in taken:
        connection.disconnect()
        pool.release(connection)


def test_a_forked_child_leaves_its_parents_connection_alone() -> None:
    inherited = connected()
    heard, say = os.pipe()

    child = os.fork()
    if child == 0:
        try:
            os.write(say, f"{echo('child')} {connected() == inherited}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(say)

    with os.fdopen(heard) as told:
        assert told.read() == "child False"
    assert echo("parent again") == "parent again"
    assert connected() == inherited


def test_pages_do_not_wait_again_for_a_redis_that_just_hung(clock: MovableClock) -> None:
    asked: list[int] = []

    def hang() -> None:
        asked.append(1)
        raise redis.TimeoutError("no answer in a second")

    for _ in range(3):
        with pytest.raises(redis.TimeoutError):
            watched(hang)

    assert len(asked) == 1
    clock.advance(seconds=SILENT_SECONDS + 0.1)
    assert watched(lambda: 7) == 7


def test_pages_ask_a_redis_that_refuses_each_time_since_that_takes_no_time(clock: MovableClock) -> None:
    with pytest.raises(redis.ConnectionError):
        watched(fail)

    assert watched(lambda: 7) == 7
