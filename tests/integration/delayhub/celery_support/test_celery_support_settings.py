"""What docs/celery/options.md says of Celery's settings: they mean on ``delayhub://`` what they mean on ``redis://``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from celery import Celery, _state
from celery._state import _task_stack
from celery.signals import worker_process_init
from celery.worker import WorkController
from kombu import Producer, Queue

import delayhub
from delayhub.celery_support.request import OurRequest
from delayhub.local.redis_server import RedisServer
from tests.celery_settings import OF_CELERY_ALONE, OF_CONNECTIONS, OF_CONSUMERS, OF_MESSAGES, OF_TASKS, OF_WORKERS
from tests.celery_versions import needs_newest
from tests.repository import python_files, text_of

pytestmark = needs_newest

#: Where a message may be.
QUEUES = ("celery", "jobs", "orders")

Look = Callable[[Celery], Any]
Both = Callable[..., tuple[Any, Any, Any]]


@pytest.fixture
def both(redis_server: RedisServer, redis_client: redis.Redis) -> Iterator[Both]:
    """Looks at apps with settings on kombu's own transport and on ours, and at one without them on kombu's."""
    made: list[Celery] = []

    def look_at(look: Look, *, is_default_broker: bool = True, **settings: Any) -> tuple[Any, ...]:
        found = []
        for scheme, given in (("redis", settings), ("delayhub", settings), ("redis", {})):
            redis_client.flushall()
            app = Celery("shop", set_as_current=False, fixups=())
            made.append(app)
            if is_default_broker or not given:
                app.conf.broker_url = redis_server.url.replace("redis", scheme)
            app.conf.update({name: with_scheme(value, scheme) for name, value in given.items()})
            if scheme == "delayhub":
                delayhub.install(app)
            app.task(name="shop.close", shared=False, lazy=False)(close)
            app.set_current()
            found.append(without_scheme(look(app)))
        return tuple(found)

    yield look_at
    for app in made:
        app.close()


def close(orders: list[str]) -> None:
    """The project's task."""
    del orders


def with_scheme(value: Any, scheme: str) -> Any:
    """Return a value with the scheme in its place."""
    return value.format(scheme) if isinstance(value, str) and "{}" in value else value


def without_scheme(value: Any) -> Any:
    """Return what was seen, with one name for both schemes."""
    if isinstance(value, dict):
        return {name: without_scheme(inner) for name, inner in value.items() if name != "delayhub_app"}
    if isinstance(value, list | tuple):
        return [without_scheme(inner) for inner in value]
    return value.replace("delayhub", "redis") if isinstance(value, str) else value


@pytest.mark.parametrize("name", OF_MESSAGES)
def test_messages_are_published_as_on_redis(name: str, both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = Producer.publish
    calls: list[Any] = []

    def noted(self: Producer, body: Any, *args: Any, **options: Any) -> Any:
        queues = [queue for queue in options.get("declare") or () if isinstance(queue, Queue)]
        declared = [(one.name, one.exchange.name, one.routing_key, one.queue_arguments) for one in queues]
        how = [options.get(one) for one in ("exchange", "routing_key", "retry", "retry_policy")]
        calls.append([str(one) for one in (*how, declared)])
        return publish(self, body, *args, **options)

    monkeypatch.setattr(Producer, "publish", noted)

    def look(app: Celery) -> Any:
        calls.clear()
        task = app.tasks["shop.close"]
        refused = ""
        task.push_request(delivery_info={"priority": 8}, called_directly=False)
        _task_stack.push(task)  # as inside of a parent
        try:
            task.apply_async((["a"],), queue="reports" if "missing" in name else None)
        except Exception as error:
            refused = type(error).__name__
        finally:
            _task_stack.pop()
            task.pop_request()
        return refused, calls, [described(app, queue) for queue in (*QUEUES, "reports")]

    kombus, ours, plain = both(look, **{name: OF_MESSAGES[name]})

    assert kombus == ours != plain


def described(app: Celery, queue: str) -> Any:
    """Return what a queue's message says, without ids."""
    with app.connection_for_read() as connection:
        message = Queue(queue)(connection.default_channel).get(accept=["json", "yaml"])
    if message is None:
        return None
    headers = {key: value for key, value in (message.headers or {}).items() if "id" not in key and key != "origin"}
    names = ("priority", "delivery_mode")
    said = [message.properties.get(one) for one in names]
    return [headers, said, message.content_type, message.content_encoding, repr(message.payload)]


@pytest.mark.parametrize("name", OF_TASKS)
def test_tasks_have_the_setting_as_on_redis(name: str, both: Both) -> None:
    attribute = {setting: attribute for attribute, setting in Celery().Task.from_config}[name]

    kombus, ours, plain = both(lambda app: getattr(app.tasks["shop.close"], attribute), **{name: OF_TASKS[name]})

    assert kombus == ours == OF_TASKS[name] != plain


@pytest.mark.parametrize("name", OF_CONNECTIONS)
def test_connections_have_the_setting_as_on_redis(name: str, both: Both) -> None:
    def look(app: Celery) -> Any:
        said = [connection.info() for connection in (app.connection_for_read(), app.connection_for_write())]
        return said, app.pool.limit

    is_old_name = name in {"broker_host", "broker_port", "broker_user", "broker_password", "broker_vhost"}
    others = {"broker_transport": "{}"} if is_old_name else {}

    kombus, ours, plain = both(look, is_default_broker=not is_old_name, **others, **{name: OF_CONNECTIONS[name]})

    assert kombus == ours != plain


@pytest.mark.parametrize("scheme", ["redis", "delayhub"])
def test_a_transport_without_a_url_names_the_broker(scheme: str) -> None:
    with Celery("shop", set_as_current=False, fixups=()) as app:
        app.conf.update(broker_transport=scheme, broker_host="elsewhere")

        connection = app.connection_for_write()

    assert (connection.transport_cls, connection.hostname) == (scheme, "elsewhere")


@pytest.mark.parametrize("name", OF_WORKERS)
def test_workers_have_the_setting_as_on_redis(name: str, both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkController, "setup_instance", lambda *_, **__: None)

    def look(app: Celery) -> Any:
        worker: Any = app.WorkController(app=app)
        worker.setup_defaults()
        return {key: value for key, value in vars(worker).items() if key not in {"app", "hostname", "startup_time"}}

    kombus, ours, plain = both(look, **{name: OF_WORKERS[name]})

    assert without_beat(kombus) == without_beat(ours) != without_beat(plain)


@pytest.mark.parametrize("name", OF_CONSUMERS)
@pytest.mark.filterwarnings("ignore:The broker_connection_retry configuration:PendingDeprecationWarning")
def test_consumers_begin_as_on_redis(name: str, both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a worker sets for its process, and what a solo pool tells those who then begin to deliver jobs.
    monkeypatch.setattr(OurRequest, "runs_here", OurRequest.runs_here)
    monkeypatch.setattr(_state, "_task_join_will_block", _state.task_join_will_block())
    monkeypatch.setattr(worker_process_init, "send", lambda **_: [])

    def look(app: Celery) -> Any:
        worker: Any = app.WorkController(app=app, hostname="w@host", pool="solo")
        consumer, called = worker.consumer, []
        consumer.ensure_connected(
            SimpleNamespace(
                connect=lambda: called.append("connect"),
                ensure_connection=lambda *_, **__: called.append("ensure_connection"),
            )
        )
        steps = {type(step).__name__ for step in consumer.steps if type(step).__module__.startswith("celery.")}
        return called, sorted(steps), sorted(app.amqp.queues.consume_from)

    kombus, ours, plain = both(look, **{name: OF_CONSUMERS[name]})

    assert kombus == ours != plain


def without_beat(found: dict[str, Any]) -> dict[str, Any]:
    """Return what was seen of a worker, without the scheduler of a beat inside of it, which is ours."""
    return {name: value for name, value in found.items() if name != "scheduler"}


@pytest.mark.parametrize("name", OF_CELERY_ALONE)
def test_nothing_of_ours_reads_or_changes_a_setting_of_celery_alone(name: str, both: Both) -> None:
    readers = [str(path) for path in python_files("delayhub") if re.search(rf"\b{name}\b", text_of(path))]

    kombus, ours, plain = both(lambda app: app.conf[name], **{name: OF_CELERY_ALONE[name]})

    assert readers == []
    assert kombus == ours == OF_CELERY_ALONE[name] != plain
