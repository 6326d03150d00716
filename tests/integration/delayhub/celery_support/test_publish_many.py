"""``publish_many``: the messages of ``apply_async``, stored once, by hundreds."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import redis
from celery import Celery, Task, signals
from celery._state import _task_stack
from kombu import Producer
from kombu.exceptions import EncodeError, OperationalError

import delayhub
from delayhub.celery_support import publish_many as module
from delayhub.engine import DelayQueue
from delayhub.errors import PublishedInPart
from delayhub.local.redis_server import RedisServer
from tests.tcp_proxy import TcpProxy

#: What differs between two messages of one task with the same arguments.
OWN = {"id", "root_id", "correlation_id", "delivery_tag", "expires", "expiration", "x-delayhub-due"}


@pytest.fixture
def close(app: Celery) -> Any:
    return app.tasks["shop.close"]


def messages(queue: DelayQueue) -> list[dict[str, Any]]:
    listed = [*queue.list("waiting", limit=5000, payloads=True), *queue.list("ready", limit=5000, payloads=True)]
    return [json.loads(found.payload or b"") for found in listed]


def alike(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what no two have in common."""
    bare = {name: value for name, value in message.items() if name not in {"headers", "properties"}}
    for part in ("headers", "properties"):
        bare[part] = {name: value for name, value in message[part].items() if name not in OWN}
        bare["names"] = sorted(message[part])
    return bare


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"countdown": 3000},
        {"countdown": 3000, "expires": 6000, "priority": 6},
        {"headers": {"tenant": "50 %(id)s"}, "ignore_result": True, "time_limit": 9},
        {"queue": "celery", "shadow": "another", "argsrepr": "(…)"},
    ],
)
def test_messages_are_those_of_apply_async(close: Any, queue: DelayQueue, options: dict[str, Any]) -> None:
    close.apply_async(("a €",), **options)

    published = delayhub.publish_many(close, [("a €",), ("a €",)], **options)

    first, *others = messages(queue)
    if first["headers"]["id"] in published.ids:  # those of one moment have no order
        first, *others = sorted([first, *others], key=lambda found: found["headers"]["id"] in published.ids)
    assert [alike(found) for found in others] == [alike(first)] * 2
    for found in others:
        ids = {found["headers"]["id"], found["headers"]["root_id"], found["properties"]["correlation_id"]}
        assert ids <= set(published.ids)
        assert len(ids) == 1
    assert queue.count().waiting == (3 if "countdown" in options else 0)


def test_a_mapping_is_keyword_arguments_and_the_order_stays(close: Any, queue: DelayQueue) -> None:
    published = delayhub.publish_many(close, ({"order": number} for number in range(1200)))

    taken = [json.loads(entry.payload) for _ in range(3) for entry in queue.claim(500).entries]
    assert [json.loads(found["body"])[1]["order"] for found in taken] == list(range(1200))
    assert [found["headers"]["id"] for found in taken] == list(published)


def test_nothing_to_publish_is_no_error(close: Any) -> None:
    assert list(delayhub.publish_many(close, [])) == []


def test_a_countdown_is_reckoned_once_also_where_times_have_no_zone(app: Celery, close: Any, queue: DelayQueue) -> None:
    app.conf.update(timezone="Asia/Tokyo", enable_utc=False)

    delayhub.publish_many(close, [(number,) for number in range(600)], countdown=600)

    due = {found.at_ms for found in queue.list("waiting", limit=600)}
    now = datetime.now(ZoneInfo("UTC")).timestamp() * 1000  # noqa: TID251  Celery's etas are of the machine's clock
    assert len(due) == 1
    assert 0 < due.pop() - now < 601_000


def test_what_a_task_publishes_has_its_root_parent_and_priority_and_is_its_child(
    app: Celery, close: Any, queue: DelayQueue
) -> None:
    app.conf.task_inherit_parent_priority = True
    close.push_request(id="p", root_id="r", called_directly=False, delivery_info={"priority": 6}, children=[])
    _task_stack.push(close)
    try:
        published = delayhub.publish_many(close, [(1,), (2,)])

        children = [child.id for child in close.request.children]
    finally:
        _task_stack.pop()
        close.pop_request()

    assert children == list(published)
    for found in messages(queue):
        assert (found["headers"]["root_id"], found["headers"]["parent_id"]) == ("r", "p")
        assert found["properties"]["priority"] == 6


def test_results_are_made_when_they_are_asked_for(app: Celery, close: Any, redis_server: RedisServer) -> None:
    app.conf.result_backend = redis_server.url.removesuffix("/0") + "/1"
    published = delayhub.publish_many(close, [(1,), (2,)])

    results = published.results()
    app.backend.store_result(published[1], 7, "SUCCESS")

    assert [result.id for result in results] == list(published)
    assert results[1].get(timeout=60) == 7


# ---------------------------------------------------------------- one by one


def with_receiver(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    def add_header(headers: Any, **_: Any) -> None:
        headers["traced"] = True

    signals.before_task_publish.connect(add_header, weak=False, dispatch_uid="test_publish_many")
    return {}


def with_sent_events(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    app.conf.task_send_sent_event = True
    return {}


def with_own_apply_async(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    inner = close.apply_async

    def own(*args: Any, **options: Any) -> Any:
        return inner(*args, **options)

    patched.setattr(close, "apply_async", own, raising=False)
    return {}


def with_a_tracer(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    inner = Task.apply_async

    @functools.wraps(inner)
    def traced(self: Any, *args: Any, **options: Any) -> Any:
        return inner(self, *args, **options)

    patched.setattr(Task, "apply_async", traced)
    return {}


def with_a_wrapped_producer(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    inner = Producer.publish

    @functools.wraps(inner)
    def traced(self: Any, *args: Any, **options: Any) -> Any:
        return inner(self, *args, **options)

    patched.setattr(Producer, "publish", traced)
    return {}


def with_a_route_that_is_a_function(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    app.conf.task_routes = [lambda *_, **__: {"queue": "celery"}]
    return {}


def with_a_link(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"link": close.si(1)}


def with_compression(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"compression": "zlib"}


def with_another_serializer(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"serializer": "yaml"}


def with_stamps(app: Celery, close: Any, patched: pytest.MonkeyPatch) -> dict[str, Any]:
    return {"stamped_headers": ["visit"], "visit": "v-7"}


@pytest.mark.parametrize(
    "arrange",
    [
        with_receiver,
        with_sent_events,
        with_own_apply_async,
        with_a_tracer,
        with_a_wrapped_producer,
        with_a_route_that_is_a_function,
        with_a_link,
        with_compression,
        with_another_serializer,
        with_stamps,
    ],
)
def test_it_goes_one_by_one_where_something_acts_on_each_publish(
    app: Celery, close: Any, queue: DelayQueue, arrange: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "in_chunks", None)
    options = arrange(app, close, monkeypatch)
    try:
        published = delayhub.publish_many(close, [(1,), (2,)], **options)
    finally:
        signals.before_task_publish.disconnect(dispatch_uid="test_publish_many")

    found = messages(queue)
    assert [message["headers"]["id"] for message in found] == list(published)
    assert all(message["headers"].get("traced") for message in found) == (arrange is with_receiver)
    stamps = [message["headers"]["stamps"] for message in found]
    assert stamps == [{"visit": "v-7"} if arrange is with_stamps else {}] * 2


def test_eager_tasks_run(app: Celery, close: Any, queue: DelayQueue) -> None:
    app.conf.task_always_eager = True

    assert len(delayhub.publish_many(close, [(1,), (2,)])) == 2
    assert queue.count().ready == 0


def test_another_broker_gets_the_messages_one_by_one() -> None:
    app = Celery("shop", broker="memory://", set_as_current=False, fixups=())
    app.conf.task_default_queue = "one by one"  # all apps of a process share what is in memory

    @app.task(name="shop.close", shared=False)
    def close(order: int) -> None:
        del order

    published = delayhub.publish_many(close, [(1,), (2,)])

    with app.connection_for_read() as connection:
        taken = [connection.default_channel.basic_get("one by one").headers["id"] for _ in published]
    assert taken == list(published)
    app.close()


# ---------------------------------------------------------------- when something goes wrong


def test_arguments_that_cannot_work_publish_nothing(close: Any, queue: DelayQueue) -> None:
    with pytest.raises(TypeError, match="order"):
        delayhub.publish_many(close, [(1,), ()])
    with pytest.raises(EncodeError):
        delayhub.publish_many(close, [(1,), (object(),)])
    with pytest.raises(TypeError, match="task_id"):
        delayhub.publish_many(close, [(1,)], task_id="mine")

    assert queue.count().ready == 0


@pytest.mark.parametrize("wrong", [("a:b",), 5])
def test_a_call_of_a_task_with_flow_keys_that_cannot_be_published_is_not_uncertain(
    app: Celery, queue: DelayQueue, wrong: Any
) -> None:
    task: Any = app.task(name="shop.sync", flow_key_by="tenant", shared=False)(sync)

    with pytest.raises(PublishedInPart) as stopped:
        delayhub.publish_many(task, [("acme",), wrong, ("later",)])

    assert (len(stopped.value.ids), stopped.value.uncertain) == (1, ())
    assert queue.count().ready == 1


def sync(tenant: str) -> None: ...


def test_an_error_on_the_way_says_how_far_it_came(close: Any, queue: DelayQueue) -> None:
    def calls() -> Iterator[tuple[Any, ...]]:
        for number in count():
            yield (number,) if number < 700 else ()

    with pytest.raises(PublishedInPart) as stopped:
        delayhub.publish_many(close, calls())

    assert isinstance(stopped.value.__cause__, TypeError)
    assert [found["headers"]["id"] for found in messages(queue)] == list(stopped.value.ids)
    assert (len(stopped.value.ids), stopped.value.uncertain) == (500, ())


def test_each_message_is_stored_once_although_replies_are_lost(
    app: Celery, close: Any, queue: DelayQueue, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    url = "delayhub://127.0.0.1:{}/0"
    policy = {"max_retries": 100, "interval_start": 0, "interval_step": 0.01, "interval_max": 0.05}
    with (
        TcpProxy(redis_server.port) as proxy,
        app.connection_for_write(url.format(proxy.port)) as lossy,
    ):

        def calls() -> Iterator[tuple[int]]:
            yield (0,)
            proxy.lose_replies(1 / 4)  # the queue is declared now
            yield from ((number,) for number in range(1, 5000))

        producer = app.amqp.Producer(lossy, auto_declare=False)
        published = delayhub.publish_many(close, calls(), producer=producer, retry_policy=policy)

        proxy.lose_replies(0)
        assert proxy.lost_replies
    assert queue.count().ready == 5000
    stored: Any = redis_client.hkeys(queue.keys.payload)
    assert {task_id.decode() for task_id in stored} == set(published)


def test_a_broker_that_is_away_is_an_error_and_publishes_nothing(app: Celery, close: Any) -> None:
    with (
        app.connection_for_write("delayhub://127.0.0.1:1/0") as away,
        pytest.raises(OperationalError),
    ):
        delayhub.publish_many(
            close, [(1,)], producer=app.amqp.Producer(away, auto_declare=False), retry_policy={"max_retries": 0}
        )
