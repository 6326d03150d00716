"""Connections of kombu's own transport to the Redis of a broker of ours; real workers are in the acceptance tests."""

from __future__ import annotations

import pytest
import redis
from celery import Celery
from kombu.pidbox import Mailbox

from delayhub.celery_support.kombu_workers import kombu_connection, kombu_workers
from delayhub.local.redis_server import RedisServer


@pytest.mark.parametrize(
    ("ours", "kombus"),
    [
        ("delayhub://shop:secret@cache:6380/2", "redis://shop:secret@cache:6380/2"),
        ("delayhubs://cache:6380/2", "rediss://cache:6380/2"),
        ("delayhub-sentinel://a:26379/2", "sentinel://a:26379/2"),
    ],
)
def test_it_goes_to_the_same_server(ours: str, kombus: str, app: Celery) -> None:
    app.conf.update(broker_url=ours, broker_transport_options={"global_keyprefix": "shop:"})

    connection = kombu_connection(app, None)

    assert connection.as_uri(include_password=True) == kombus
    assert connection.transport_options["global_keyprefix"] == "shop:"


def test_it_knows_all_sentinels_by_the_scheme_of_kombu(app: Celery) -> None:
    app.conf.update(broker_url="delayhub-sentinel://a:26379;delayhub-sentinel://:secret@b:26379")

    connection = kombu_connection(app, None)

    assert connection.alt == ["sentinel://a:26379", "sentinel://:secret@b:26379"]
    assert connection.transport_cls == "sentinel"


def test_without_workers_there_is_no_answer_and_nothing_stays_behind(
    app: Celery, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    assert kombu_workers(app) == kombu_workers(app, redis_server.url) == {}
    assert [key for key in redis_client.scan_iter("*pidbox") if redis_client.ttl(key) == -1] == []


def test_a_worker_that_answers_with_an_error_is_alive(
    app: Celery, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = [{"a@host": {"error": "TypeError()"}}, {"b@host": ["order-5"]}]
    monkeypatch.setattr(Mailbox, "multi_call", lambda *_, **__: replies)

    assert kombu_workers(app, redis_server.url) == {"a@host": [], "b@host": ["order-5"]}
