"""Where timers are: the pool of the app's own broker (``broker_pool``), whatever kind of broker that is."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery, _state

from delayhub.errors import OptionError
from delayhub.local.redis_server import RedisServer
from delayhub.redis_cluster import client_of, cluster_pool
from tasksapp import jobs
from tasksapp.models import BizType
from tasksapp.timers import lanes
from tasksapp.timers.broker import timer_pool
from tasksapp.timers.fitness import check_broker, server_faults, settings_faults
from tasksapp.timers.lanes import brisk_lane, patient_lane, timer_address
from tests.cluster import LocalCluster
from tests.integration.delayhub.transport.sentinels import NAME, Sentinels


@pytest.fixture
def app(settings: Any, current_celery: Celery) -> Celery:
    """The process' Celery app; no setting of Django's names a broker."""
    settings.DELAYHUB = {"ARM_TIMEOUT_SECONDS": 5.0}  # a machine busy with tests is no fault
    del settings.CELERY_BROKER_URL
    lanes.try_again()
    return current_celery


@pytest.fixture
def unix_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that listens on a socket file too."""
    with RedisServer(config={"unixsocket": str(tmp_path / "redis.sock")}) as server:
        yield server


def timers_reach(server: redis.Redis) -> bool:
    patient_lane("delayhub.timers").ensure("order.close", [("1", 1)])
    return any(b"order.close" in key for key in server.scan_iter())


def test_timers_go_where_the_apps_own_broker_is(app: Celery, broker: str, redis_client: redis.Redis) -> None:
    app.conf.broker_url = broker
    app.conf.broker_transport_options = {"global_keyprefix": "shop:"}

    assert timers_reach(redis_client)
    assert all(key.startswith(b"shop:") for key in redis_client.scan_iter())
    assert check_broker(None) == []


def test_the_brokers_address_in_the_environment_counts(
    app: Celery, broker: str, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELERY_BROKER_URL", broker)

    assert timers_reach(redis_client)


@pytest.mark.django_db(transaction=True)
def test_without_a_broker_jobs_are_kept_and_the_check_says_what_to_do(app: Celery, biz_type: BizType) -> None:
    created = jobs.create("order.close")

    assert created.armed is False
    (error,) = check_broker(None)
    assert error.id == "delayhub.E004"
    assert "set CELERY_BROKER_URL" in error.msg


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("redis://cache/0", "redis:// is no broker of DelayHub's"),
        ("amqp://guest@cache//", "amqp:// is no broker of DelayHub's"),
        # the second one would be used after a failure, and has no timers
        ("delayhub://a/3;delayhub://b/3", "names several servers"),
        # Redis behind sentinels has no name but this
        ("delayhub-sentinel://a:26379", "master_name"),
    ],
)
def test_a_broker_that_cannot_hold_timers_is_an_error_of_the_check(app: Celery, url: str, reason: str) -> None:
    app.conf.broker_url = url

    (error,) = check_broker(None)

    assert error.id == "delayhub.E004"
    assert reason in error.msg
    with pytest.raises(OptionError, match=reason):
        patient_lane("delayhub.timers")


def test_timers_are_reached_through_a_socket(app: Celery, unix_server: RedisServer, tmp_path: Path) -> None:
    app.conf.broker_url = f"delayhub+socket://{tmp_path}/redis.sock"

    with unix_server.client() as server:
        assert timers_reach(server)


def test_timers_are_reached_behind_sentinels(app: Celery, tmp_path: Path) -> None:
    with Sentinels(tmp_path) as group:
        app.conf.broker_url = group.url
        app.conf.broker_transport_options = {"master_name": NAME}

        with group.servers[0].client() as server:
            assert timers_reach(server)
            assert server_faults(server, prefix="") == []


@pytest.mark.parametrize("by_setting", [False, True])
def test_timers_are_reached_in_a_cluster(app: Celery, cluster: LocalCluster, settings: Any, by_setting: bool) -> None:
    app.conf.broker_url = cluster.url
    if by_setting:
        settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": cluster.url}
    names = [f"lane-{number}" for number in range(4)]

    for name in names:
        brisk_lane(name).ensure("order.close", [("1", 1)])
        assert [batch.ids for batch in patient_lane(name).claim(10).batches] == [["1"]]
    with client_of(cluster_pool(cluster.url, timeout_seconds=5)) as asked:
        assert server_faults(asked, prefix="") == []
    assert check_broker(None) == []
    assert timer_address().startswith("cluster 127.0.0.1:")
    assert len({cluster.owner(f"{{{name}}}").port for name in names}) > 1


def test_timers_in_a_cluster_are_in_database_0(app: Celery, settings: Any) -> None:
    app.conf.broker_url = "delayhub-cluster://a:6379"
    settings.DELAYHUB = {"REDIS_URL": "delayhub-cluster://a:6379/2"}

    assert settings_faults() == [
        "DELAYHUB['REDIS_URL']: a Redis Cluster has only database 0: end its URLs without a number, or with /0"
    ]


def test_the_brokers_tls_settings_count(app: Celery) -> None:
    app.conf.broker_url = "delayhubs://cache:6380/2"
    app.conf.broker_use_ssl = {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_ca_certs": "/etc/ca.pem"}

    known = timer_pool(timeout_seconds=0.5).connection_kwargs

    assert known["ssl_ca_certs"] == "/etc/ca.pem"
    assert (known["host"], known["port"], known["db"], known["socket_timeout"]) == ("cache", 6380, 2, 0.5)


def test_another_thread_finds_the_app_too(app: Celery, broker: str) -> None:
    app.conf.broker_url = broker
    before = _state.default_app
    app.set_default()
    try:
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(settings_faults).result()
    finally:
        _state.set_default_app(before)

    assert found == []


def test_timers_in_another_database_than_the_broker_are_reported(
    app: Celery, settings: Any, broker: str, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    app.conf.broker_url = broker
    settings.DELAYHUB = {"REDIS_URL": redis_server.url.replace("/0", "/3")}

    (warning,) = check_broker(None)
    (fault,) = server_faults(redis_client, prefix="")

    assert warning.id == "delayhub.W003"
    assert "another Redis server or database" in fault


def test_timers_under_another_prefix_than_the_brokers_are_reported(
    app: Celery, settings: Any, broker: str, redis_client: redis.Redis
) -> None:
    app.conf.broker_url = broker
    settings.DELAYHUB = {"KEY_PREFIX": "shop:"}

    (fault,) = server_faults(redis_client, prefix="")

    assert "begin with 'shop:'" in fault
