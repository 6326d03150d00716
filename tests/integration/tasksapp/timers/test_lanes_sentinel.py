"""Behind Sentinel all that asks Redis asks the master, before a failover and after it; another Redis gets nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery, _state
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.utils import timezone

import delayhub
from delayhub.clock import SystemClock, due_ms
from delayhub.engine import TimerLane
from delayhub.local.redis_server import RedisServer, free_port
from tasksapp.alerts.watch import Watch
from tasksapp.biz_types.flow_keys import pause_key, resume_key
from tasksapp.jobs.creation import Created, JobRequest, create, create_many
from tasksapp.maintenance.loader import Loader
from tasksapp.models import Job, Status
from tasksapp.timers import lanes
from tasksapp.timers.broker import timer_pool
from tasksapp.timers.lanes import brisk_lane, client, patient_lane
from tests.fixture_types import Fire, MakeBizType
from tests.integration.delayhub.transport.sentinels import NAME, Sentinels
from tests.integration.tasksapp.receiver import Receiver, answering
from tests.waiting import wait_until

FAILURES = 3
LANE = "delayhub.timers"


@pytest.fixture
def decoy(monkeypatch: pytest.MonkeyPatch) -> Iterator[redis.Redis]:
    """An unrelated Redis at the address that redis-py takes where it is told none, whatever this machine has there."""
    given = inspect.signature(redis.Connection.__init__).parameters
    default = given["host"].default, given["port"].default
    assert default == ("localhost", 6379)
    plain: Callable[[Any], Any] = redis.Connection._connect

    with RedisServer() as server:

        def connect(connection: Any) -> Any:
            if (connection.host, connection.port) == default:
                connection.host, connection.port = "127.0.0.1", server.port
            return plain(connection)

        monkeypatch.setattr(redis.Connection, "_connect", connect)
        # It does catch what goes to the default.
        with redis.Redis() as lost:
            assert lost.info("server")["tcp_port"] == server.port
        with server.client() as asked:
            yield asked


@pytest.fixture
def group(
    tmp_path: Path, settings: Any, current_celery: Celery, _private_redis: None, decoy: redis.Redis
) -> Iterator[Sentinels]:
    """The master that the timers are in, its replicas and sentinels."""
    patient = {name: value for name, value in settings.DELAYHUB.items() if name != "REDIS_URL"}
    settings.DELAYHUB = {**patient, "BREAKER_FAILURES": FAILURES, "BREAKER_SECONDS": 600}
    del settings.CELERY_BROKER_URL
    delayhub.install(current_celery)
    before = _state.default_app
    current_celery.set_default()  # for the threads of deliveries too
    with Sentinels(tmp_path) as made:
        current_celery.conf.broker_url = made.url
        current_celery.conf.broker_transport_options = {"master_name": NAME}
        yield made
    _state.set_default_app(before)


@pytest.fixture
def lane(group: Sentinels) -> TimerLane:
    """The timer lane of the master, for ``fire``."""
    return patient_lane(LANE)


def put_a_job(biz_type: str, **fields: Any) -> Created:
    """A job that is due, whose timer was set at once."""
    created = create(biz_type, **fields)
    assert created.armed
    return created


def connections_of(server: redis.Redis) -> int:
    """How many connections it ever took."""
    return int(server.info("stats")["total_connections_received"])


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_all_limits_hold_before_a_failover_and_after_it(
    group: Sentinels, decoy: redis.Redis, make_biz_type: MakeBizType, receiver: Receiver, fire: Fire
) -> None:
    touched = connections_of(decoy)
    receiver.answer = answering(503)
    url = receiver.url()
    make_biz_type("down", url=url, backoff_min_seconds=600)
    make_biz_type("narrow", url=url, insert_rate=0.001, insert_burst=5)
    make_biz_type("keyed", url=url)
    pulled = make_biz_type("pulled", url=url, target="pull", max_in_flight=2)
    keyed = make_biz_type("keyed.paused", url=url)
    paused = make_biz_type("paused", url=url, paused_until=timezone.now() + timedelta(days=1))
    loader = Loader(using="default")
    own = patient_lane(pulled.timer_lane)

    def pull() -> list[str]:
        return [job_id for batch in own.claim(10, slot_seconds=600).batches for job_id in batch.ids]

    # given: a breaker that opened, an insert rate that is used up, a pause, a paused flow key, and taken slots
    for _ in range(FAILURES):
        put_a_job("down")
    assert loader.run_once().held
    assert len(fire()) == FAILURES
    put_a_job("down")
    admitted = create_many([JobRequest(biz_type="narrow", delay=timedelta(days=1)) for _ in range(20)])
    assert sum(isinstance(each, Created) for each in admitted) == 5
    put_a_job("paused")
    pause_key(keyed, "customer-1")
    put_a_job("keyed.paused", flow_key="customer-1")
    for _ in range(4):
        put_a_job("pulled")
    held = pull()
    assert (len(held), pull(), fire()) == (2, [], [])

    # when: the master falls, and its replicas have everything
    before = group.master
    with group.client() as master:
        assert master.wait(2, 20_000) == 2
    group.kill_the_master()
    assert group.master != before
    lanes.try_again()
    wait_until(lambda: _answers(client()))
    wait_until(lambda: _answers(brisk_lane(LANE).client))

    # then: timers are set at once, what was shut is shut, and what was used up is used up
    put_a_job("down")
    put_a_job("paused")
    put_a_job("keyed.paused", flow_key="customer-1")
    assert (fire(), pull()) == ([], [])
    assert not any(isinstance(each, Created) for each in create_many([JobRequest(biz_type="narrow")] * 3))
    assert loader.run_once().held
    assert (fire(), pull()) == ([], [])
    assert Job.objects.filter(biz_type__code="down", status=Status.DEAD).count() == 0

    # and each is lifted as before
    own.settle(pulled.queue, held[:1])
    assert len(pull()) == 1
    resume_key(keyed, "customer-1")
    assert len(fire()) == 2
    paused.paused_until = None
    paused.save()
    loader.run_once()
    assert len(fire()) == 2

    # and the other Redis was never even asked
    assert decoy.dbsize() == 0
    assert connections_of(decoy) == touched


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_what_looks_at_the_database_goes_on_after_a_failover(
    group: Sentinels, decoy: redis.Redis, make_biz_type: MakeBizType
) -> None:
    touched = connections_of(decoy)
    biz_type = make_biz_type("order.close")
    loader, watch = Loader(using="default"), Watch(using="default", clock=SystemClock())
    # given: a loader and a watcher at work, and a job that is overdue
    for _ in range(2):
        loader.look()
        assert loader.run_once().held
        assert watch.run_once().held
    job_id = put_a_job("order.close").job_id
    Job.objects.update(next_run_at=timezone.now() - timedelta(seconds=10))

    # when: the master falls, and its timer with it
    with group.client() as master:
        master.delete(*master.scan_iter("*order.close*"))
        assert master.wait(2, 20_000) == 2
    group.kill_the_master()
    lanes.try_again()
    wait_until(lambda: _answers(client()))
    wait_until(lambda: _answers(brisk_lane(LANE).client))

    # then: what the look found is armed at the next master, which the watcher asks for open breakers
    wait_until(lambda: watch.run_once().held)
    looked = loader.look()
    assert looked is not None
    assert looked.overdue == {biz_type.id}
    turn = loader.run_once()
    assert turn.entered + turn.overdue == 1, "a new master is loaded whole"
    assert patient_lane(LANE).claim().batches[0].ids == [str(job_id)]
    open_until = due_ms(timezone.now() + timedelta(seconds=30))
    with group.client() as master:
        master.set(patient_lane(LANE).keys.queue(biz_type.queue).breaker, f"open:{open_until}:shop.example")
    assert watch.run_once().told == (f"began: breaker_open {biz_type.pk}",)
    assert connections_of(decoy) == touched


def test_a_sentinel_that_is_away_or_hangs_costs_a_caller_next_to_nothing(
    group: Sentinels, current_celery: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = f"delayhub-sentinel://127.0.0.1:{free_port()}"
    asked: list[float] = []
    monkeypatch.setattr("redis.retry.sleep", asked.append)
    current_celery.conf.broker_url = f"{refused};{group.url}"
    current_celery.conf.broker_transport_options = {"master_name": NAME, "sentinel_kwargs": {"client_name": "shop"}}

    pool: Any = timer_pool(timeout_seconds=0.5)

    assert redis.Redis(connection_pool=pool).ping()
    assert asked == []
    limits = [sentinel.connection_pool.connection_kwargs for sentinel in pool.sentinel_manager.sentinels]
    assert {(limit["socket_timeout"], limit["socket_connect_timeout"]) for limit in limits} == {(0.5, 0.5)}
    assert {limit["client_name"] for limit in limits} == {"shop"}


def test_the_check_names_what_an_address_behind_sentinels_lacks(settings: Any, current_celery: Celery) -> None:
    settings.DELAYHUB = {}
    current_celery.conf.broker_url = "delayhub-sentinel://a:26379"

    with pytest.raises(SystemCheckError, match="master_name"):
        call_command("check")


def _answers(asked: redis.Redis) -> bool:
    try:
        return bool(asked.ping())
    except redis.RedisError:
        return False
