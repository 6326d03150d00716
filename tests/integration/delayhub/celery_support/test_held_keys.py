"""Flow keys of Celery tasks, from a call to the tables for people."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.exceptions import WorkerShutdown

import delayhub
from delayhub.celery_support.share_limits import ShareLimits, hooks_of_app
from delayhub.celery_support.task_limits import task_limits
from delayhub.engine import DelayQueue, Place
from delayhub.engine.limits import DECLARED, Limit, set_limits
from delayhub.engine.task_name import FLOW_KEY_HEADER, KEY_MARK, flow_key_of, task_of
from delayhub.transport.envelope import from_payload


@pytest.fixture
def shop(broker: str) -> Iterator[Celery]:
    """An app with a task that has flow keys, and limits for each."""
    made = Celery("shop", broker=broker, set_as_current=False, fixups=())
    delayhub.install(made)

    @made.task(name="shop.mail", flow_key_by="tenant", key_rate_limit="1/h", key_max_in_flight=2, shared=False)
    def mail(tenant: str, number: int = 0) -> None:
        del tenant, number

    made.tasks["shop.mail"].acks_late = True
    yield made
    made.close()


def keys(queue: DelayQueue) -> list[str | None]:
    """The flow keys of the messages of a queue."""
    payloads = queue.stored([one.id for place in Place for one in queue.list(place)]).values()
    assert {task_of(payload) for payload in payloads} == {"shop.mail"}
    found = [flow_key_of(payload) for payload in payloads]
    assert found == [from_payload(payload)["headers"].get(FLOW_KEY_HEADER) for payload in payloads]
    return sorted(found, key=str)


@pytest.mark.parametrize("is_compact", [False, True])
def test_every_way_to_call_a_task_gives_its_message_a_flow_key(
    shop: Celery, queue: DelayQueue, is_compact: bool
) -> None:
    shop.conf.broker_transport_options = {"compact": is_compact}
    mail: Any = shop.tasks["shop.mail"]

    mail.delay("a")
    mail.apply_async(["a"], flow_key="b", countdown=60)
    mail.s("c").set(priority=3).apply_async()
    mail.signature(("a",), flow_key="d").apply_async()
    shop.send_task("shop.mail", ["e"])
    shop.send_task("shop.mail", ("f",), {}, 60)
    delayhub.publish_many(mail, [["g"], ["h"]])
    delayhub.publish_many(mail, [["a"]], flow_key="i")
    mail.apply_async([None])

    assert keys(queue) == sorted([None, *"abcdefghi"], key=str)


def test_a_worker_declares_the_limits_of_each_key_and_people_see_and_change_them(
    shop: Celery, queue: DelayQueue
) -> None:
    control: Any = shop.control
    ShareLimits(SimpleNamespace(app=shop, pool=SimpleNamespace(limit=4), disable_rate_limits=False))
    hooks_of_app(shop).on_consume(queue)
    for tenant in "aaabbc":
        shop.send_task("shop.mail", [tenant])
    assert len(queue.claim(10).entries) == 3

    (limit,) = control.rate_limits("celery")["celery"]
    assert (limit.task, limit.each_key, limit.rate, limit.at_once) == ("shop.mail", True, "1/h", 2)
    assert (limit.parked, limit.keys, limit.running) == (3, 2, 3)
    held = control.held_flow_keys()["celery"]
    assert [(one.task, one.flow_key, one.parked, one.running) for one in held] == [
        ("shop.mail", "a", 2, 1),
        ("shop.mail", "b", 1, 1),
    ]
    assert all(one.starts_at for one in held)

    control.set_rate_limit("shop.mail", 0, each_key=True)
    hooks_of_app(shop).on_consume(queue)  # a worker that starts later changes nothing of that

    assert len(queue.claim(10).entries) == 2
    (limit,) = control.rate_limits("celery")["celery"]
    assert (limit.rate, limit.declared, limit.parked, limit.running) == (None, "1/h", 1, 5)
    control.set_max_in_flight("shop.mail", 3, each_key=True)
    assert len(queue.claim(10).entries) == 1


@pytest.mark.parametrize(
    ("option", "value"), [("key_rate_limit", "fast"), ("key_max_in_flight", 0), ("flow_key_by", ["a"])]
)
def test_a_worker_does_not_start_with_an_option_that_cannot_work(shop: Celery, option: str, value: Any) -> None:
    setattr(shop.tasks["shop.mail"], option, value)

    with pytest.raises(WorkerShutdown):
        ShareLimits(SimpleNamespace(app=shop, pool=SimpleNamespace(limit=4), disable_rate_limits=False))


def test_a_header_that_cannot_be_a_flow_key_is_left_out(shop: Celery, queue: DelayQueue) -> None:
    shop.signature("shop.mail", [None], app=shop).apply_async(headers={FLOW_KEY_HEADER: "a:b", "x": 1})

    assert keys(queue) == [None]


def test_tables_say_how_many_keys_there_are(queue: DelayQueue) -> None:
    set_limits(queue, DECLARED, {"shop.mail" + KEY_MARK: Limit(10**13)})

    assert [(row.task, row.each_key, row.keys) for row in task_limits(queue)] == [("shop.mail", True, 0)]
