"""Calls of unique tasks, as a program publishes them: what it gets back, and what is stored."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, chain, chord, group
from celery.exceptions import TaskRevokedError

import delayhub
from delayhub import Unique
from delayhub.celery_support.control import Control
from delayhub.engine import DelayQueue, Place
from delayhub.engine.key_holders import look_at_keys
from delayhub.engine.unique import offer
from delayhub.errors import OptionError, UniqueInCanvas, UniqueTaken
from delayhub.transport import channel as channel_module
from delayhub.transport.envelope import from_payload
from delayhub.transport.unique_publish import UNIQUE_HEADER


def do_nothing() -> None: ...


@pytest.fixture(params=[False, True], ids=["plain", "compact"])
def shop(broker: str, redis_server: Any, request: pytest.FixtureRequest) -> Iterator[Celery]:
    """An app with unique tasks, and a result backend, whose messages may be compact."""
    made = Celery("shop", broker=broker, backend=redis_server.url.removesuffix("/0") + "/1", set_as_current=False)
    made.conf.broker_transport_options = {"compact": request.param}
    delayhub.install(made)

    def close(order: int, force: bool = False) -> None:
        del order, force

    options: dict[str, Any] = {
        "close": Unique(by=["order"]),
        "strict": Unique(by=["order"], when_taken="raise", in_canvas="error"),
        "latest": Unique(by=["order"], when_taken="replace"),
        "calm": Unique(by=["order"], until=60),
        "plain": None,
    }
    for name, unique in options.items():
        made.task(close, name=f"shop.{name}", unique=unique, shared=False)
    yield made
    made.close()


def stored(queue: DelayQueue) -> list[str]:
    """The ids of the messages of a queue, in no order."""
    return [one.id for place in Place for one in queue.list(place)]


def test_a_refused_call_gives_the_result_of_the_first(shop: Celery, queue: DelayQueue) -> None:
    first = shop.tasks["shop.close"].delay(7)

    again = [
        shop.tasks["shop.close"].delay(order=7),
        shop.tasks["shop.close"].apply_async([7, True], countdown=60),
        shop.send_task("shop.close", [7]),
        shop.send_task("shop.close", (7,), {}, 60),
        shop.signature("shop.close", [7]).apply_async(),
    ]

    assert {one.id for one in again} == {first.id}
    assert stored(queue) == [first.id]
    assert shop.tasks["shop.close"].delay(8).id != first.id


def test_the_option_of_a_call_goes_before_what_the_task_says(shop: Celery, queue: DelayQueue) -> None:
    close, plain = shop.tasks["shop.close"], shop.tasks["shop.plain"]
    close.delay(7)

    assert close.apply_async([7], unique=False).id in stored(queue)
    first = plain.apply_async([7], unique="order:7")
    # a task that this program does not know
    assert shop.send_task("other.close", [9], unique="order:7").id == first.id
    assert shop.send_task("other.close", [9]).id != first.id
    with pytest.raises(OptionError, match="does not know the task"):
        shop.send_task("other.close", [9], unique=True)


def test_what_waits_for_the_id_of_a_refused_call_ends(shop: Celery) -> None:
    first = shop.tasks["shop.close"].delay(7)

    again = shop.tasks["shop.close"].apply_async([7], task_id="my-own")

    assert again.id == first.id
    with pytest.raises(TaskRevokedError, match=f"its unique key is that of {first.id}"):
        shop.AsyncResult("my-own").get(timeout=10)


def test_a_task_may_raise_where_its_key_is_taken(shop: Celery) -> None:
    first = shop.tasks["shop.strict"].delay(7)

    with pytest.raises(UniqueTaken) as caught:
        shop.tasks["shop.strict"].delay(7)

    assert (caught.value.kept_id, caught.value.key) == (first.id, "shop.strict(order=7)")


def test_a_replaced_call_ends_as_revoked(shop: Celery, queue: DelayQueue) -> None:
    first = shop.tasks["shop.latest"].apply_async([7], countdown=60)

    second = shop.tasks["shop.latest"].apply_async([7, True], countdown=90)

    assert stored(queue) == [second.id]
    with pytest.raises(TaskRevokedError):
        first.get(timeout=10)


def test_a_replaced_call_ends_also_where_the_reply_to_the_replacing_publish_is_lost(
    shop: Celery, queue: DelayQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = shop.tasks["shop.latest"].apply_async([7], countdown=60)
    replies = [ConnectionError("the reply is lost")]

    def loses_a_reply(*given: Any) -> Any:
        offered = offer(*given)
        if replies:
            raise replies.pop()
        return offered

    monkeypatch.setattr(channel_module, "offer", loses_a_reply)
    second = shop.tasks["shop.latest"].apply_async([7, True], countdown=90)

    assert (stored(queue), replies) == ([second.id], [])
    with pytest.raises(TaskRevokedError):
        first.get(timeout=10)


def test_a_call_that_replaces_one_with_its_own_id_is_not_revoked(shop: Celery, queue: DelayQueue) -> None:
    latest = shop.tasks["shop.latest"]
    first = latest.apply_async([7], task_id="report-7", countdown=60)

    again = latest.apply_async([7, True], task_id="report-7", countdown=60)

    assert len(stored(queue)) == 1
    assert (first.id, again.id, again.state) == ("report-7", "report-7", "PENDING")


def test_a_key_for_a_time_refuses_also_after_the_task_has_ended(shop: Celery, queue: DelayQueue) -> None:
    first = shop.tasks["shop.calm"].delay(7)
    claim = queue.claim(1)
    queue.acknowledge([queue.lease(entry.id, entry.token) for entry in claim.entries])

    assert shop.tasks["shop.calm"].delay(7).id == first.id


def test_what_others_wait_for_is_stored_and_waits_for_its_key(shop: Celery, queue: DelayQueue) -> None:
    close, plain = shop.tasks["shop.close"], shop.tasks["shop.plain"]
    first = close.delay(7)

    members = [
        *group(close.s(7), close.s(7)).apply_async().results,
        *chord([close.s(7)], plain.si(1)).apply_async().parent.results,
        chain(close.si(7), plain.si(1)).apply_async().parent,
        close.apply_async([7], link=plain.si(1)),
    ]

    assert set(stored(queue)) == {first.id, *(one.id for one in members)}
    [taken] = look_at_keys(queue, limit=1000).found
    assert (taken.id, taken.following) == (first.id, 5)


def test_a_task_may_be_forbidden_in_canvas(shop: Celery, queue: DelayQueue) -> None:
    strict = shop.tasks["shop.strict"]

    with pytest.raises(UniqueInCanvas, match="unique and part of a group"):
        group(strict.s(7), strict.s(8)).apply_async()

    assert stored(queue) == []


def test_many_calls_of_a_unique_task_are_published_one_by_one(shop: Celery, queue: DelayQueue) -> None:
    close = shop.tasks["shop.close"]

    published = delayhub.publish_many(close, [[7], [8], [7]])

    assert published.ids[0] == published.ids[2]
    assert sorted(stored(queue)) == sorted({*published.ids})


def test_a_header_of_another_message_is_not_inherited(shop: Celery, queue: DelayQueue) -> None:
    said = {UNIQUE_HEADER: {"key": "k", "until": "end", "ms": 0}, "mine": 1}

    result = shop.tasks["shop.plain"].apply_async([7], headers=said)

    [listed] = queue.list(Place.READY, payloads=True)
    headers = from_payload(listed.payload or b"")["headers"]
    assert (listed.id, headers["mine"], UNIQUE_HEADER in headers) == (result.id, 1, False)


def test_a_person_sees_the_keys_and_frees_one(shop: Celery, queue: DelayQueue) -> None:
    control = shop.control
    assert isinstance(control, Control)
    first = shop.tasks["shop.close"].delay(7)
    shop.tasks["shop.calm"].delay(7)

    found = control.unique_keys()["celery"]
    assert [(one.key, one.until) for one in found] == [("shop.calm(order=7)", "time"), ("shop.close(order=7)", "end")]

    assert control.free_unique_key("shop.close(order=7)") == 1
    assert control.free_unique_key("shop.close(order=7)", "celery") == 0
    assert shop.tasks["shop.close"].delay(7).id != first.id
    assert len(stored(queue)) == 3


def test_apps_on_other_brokers_take_no_notice() -> None:
    app = Celery("shop", broker="memory://", set_as_current=False, fixups=())
    delayhub.install(app)

    @app.task(name="shop.close", unique=True, shared=False)
    def close(order: int) -> None:
        del order

    assert app.tasks["shop.close"].delay(7).id != app.tasks["shop.close"].delay(7).id
    app.close()


def test_a_unique_call_on_another_broker_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    app = delayhub.install(Celery("shop", broker="memory://", set_as_current=False, fixups=()))
    once = app.task(name="shop.once", unique=True, shared=False)(do_nothing)
    name = "delayhub.celery_support.unique_send"
    logging.getLogger(name).propagate = True

    with caplog.at_level(logging.WARNING, logger=name):
        once.delay()
        once.delay()

    assert [each.getMessage() for each in caplog.records if each.name == name] == [
        "unique= of shop.once does nothing on memory://: each call is sent. Set broker_url = delayhub://..."
    ]


def test_a_misspelt_option_of_a_call_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    app = delayhub.install(Celery("shop", broker="memory://", set_as_current=False, fixups=()))
    plain = app.task(name="shop.plain", shared=False)(do_nothing)
    name = "delayhub.celery_support.unique_send"
    logging.getLogger(name).propagate = True

    with caplog.at_level(logging.WARNING, logger=name):
        for _ in range(2):
            plain.apply_async(flowkey="acme", priority=3, headers={"flowkey": "mine"})
            plain.s().set(uniqe=True).apply_async()

    assert [each.getMessage() for each in caplog.records if each.name == name] == [
        "flowkey= of a call of shop.plain does nothing; the nearest option is flow_key=",
        "uniqe= of a call of shop.plain does nothing; the nearest option is unique=",
    ]
