"""What pages see of a broker's queues."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import redis
from celery import Celery
from kombu import Connection

from delayhub.celery_support.queue_browser import QueueBrowser
from delayhub.engine import DelayQueue, Entry, Place, TimerLane
from delayhub.errors import OptionError

YEAR_2096_MS = 4_000_000_000_000


@pytest.fixture
def browser(app: Celery) -> Iterator[QueueBrowser]:
    made = QueueBrowser(app.connection_for_write())
    yield made
    made.close()


def test_a_queue_that_no_setting_declares_is_found(app: Celery, browser: QueueBrowser) -> None:
    app.send_task("shop.close", queue="reports")

    assert browser.names(["celery"]) == ["celery", "reports"]


def test_a_queue_that_only_a_binding_of_kombus_transport_names_is_found(
    browser: QueueBrowser, redis_client: redis.Redis
) -> None:
    with Connection(f"redis://127.0.0.1:{redis_client.connection_pool.connection_kwargs['port']}/0") as other:
        with other.SimpleQueue("left.over") as queue:
            queue.put("x")

    assert browser.names() == ["left.over"]
    assert browser.left_by_kombu(["left.over"]) == 1


def test_each_queue_says_what_it_has_and_when(browser: QueueBrowser, app: Celery, redis_client: redis.Redis) -> None:
    app.send_task("shop.close", countdown=1000)
    app.send_task("shop.close")
    lane = TimerLane(redis_client, "orders.timers")
    lane.ensure("close", [("due", 1_000), ("later", YEAR_2096_MS)])

    celery, timers, empty = browser.summaries(["celery", "orders.timers", "empty"])

    assert (celery.is_lane, celery.backlog[:4]) == (False, (1, 1, 0, 0))
    now = datetime.now(UTC)  # noqa: TID251  compared with Redis' time
    assert celery.next_at is not None
    assert timedelta(seconds=900) < celery.next_at - now < timedelta(seconds=1001)
    assert celery.oldest_at is not None
    assert abs(celery.oldest_at - now) < timedelta(seconds=10)
    assert (timers.is_lane, timers.backlog[:4]) == (True, (1, 1, 0, 0))
    assert timers.next_at == datetime.fromtimestamp(YEAR_2096_MS / 1000, UTC)
    assert (empty.backlog[:4], empty.oldest_at, empty.next_at) == ((0, 0, 0, 0), None, None)
    assert browser.timers("orders.timers") == {"close": (2, 0)}


def test_a_page_shows_tasks_as_they_were_sent(browser: QueueBrowser, app: Celery) -> None:
    sent = [app.send_task("shop.close", ["o-1"], {"x": 1}, countdown=1000 + number) for number in range(3)]

    [task] = browser.page("celery", Place.WAITING, offset=1, limit=1)

    assert (task.task_id, task.task, task.args, task.kwargs) == (sent[1].id, "shop.close", "['o-1']", "{'x': 1}")
    assert (task.place, task.strikes, task.redelivered, task.reason) == (Place.WAITING, 0, False, "")


def test_what_is_no_task_is_listed_without_a_name(browser: QueueBrowser, queue: DelayQueue) -> None:
    queue.schedule([Entry("a", payload=b"\xff"), Entry("b", payload=b'{"properties": {}, "headers": [1]}')])

    assert [(task.id, task.task) for task in browser.page("celery", Place.READY)] == [("a", ""), ("b", "")]


def test_a_task_is_found_by_its_id_wherever_it_is(browser: QueueBrowser, app: Celery, queue: DelayQueue) -> None:
    sent = app.send_task("shop.close", countdown=1000)
    queue.schedule([Entry(sent.id)])

    found = browser.find("celery", sent.id)

    assert [(task.place, task.id) for task in found] == [(Place.WAITING, sent.id), (Place.READY, f"{sent.id}#1")]
    assert browser.find("celery", "nothing") == []


def test_a_search_looks_into_arguments_only_where_it_may(browser: QueueBrowser, app: Celery) -> None:
    app.send_task("shop.close", ["Order-77"], countdown=1000)
    app.send_task("shop.open", ["order-78"], countdown=1000)

    assert [task.args for task in browser.search("celery", Place.WAITING, "ORDER-77", with_arguments=True).found] == [
        "['Order-77']"
    ]
    assert browser.search("celery", Place.WAITING, "order-77", with_arguments=False).found == []
    assert len(browser.search("celery", Place.WAITING, "shop.open", with_arguments=False).found) == 1


def test_a_search_ends_with_its_time_and_says_how_far_it_came(browser: QueueBrowser, queue: DelayQueue) -> None:
    queue.schedule([Entry(f"{number:04}", YEAR_2096_MS, b"x") for number in range(450)])

    cut = browser.search("celery", Place.WAITING, "0449", with_arguments=False, most_seconds=0)
    rest = browser.search("celery", Place.WAITING, "0449", with_arguments=False, offset=cut.looked_at)

    assert (cut.found, cut.looked_at, cut.total, cut.is_whole) == ([], 100, 450, False)
    assert ([task.id for task in rest.found], rest.is_whole) == (["0449"], True)


def test_a_search_ends_with_enough(browser: QueueBrowser, queue: DelayQueue) -> None:
    queue.schedule([Entry(f"{number:04}", YEAR_2096_MS, b"x") for number in range(100)])

    found = browser.search("celery", Place.WAITING, "00", with_arguments=False, most_found=10)

    assert (len(found.found), found.looked_at) == (10, 10)


@pytest.mark.parametrize("url", ["amqp://localhost//", "redis://127.0.0.1:1/0", "memory://"])
def test_another_broker_is_refused_by_name(url: str) -> None:
    with pytest.raises(OptionError, match="is no broker of DelayHub's"):
        QueueBrowser(Connection(url))


def test_a_user_who_may_see_our_keys_only_sees_our_queues(broker: str, app: Celery, redis_client: redis.Redis) -> None:
    app.send_task("shop.close", queue="reports")
    redis_client.execute_command(
        "ACL", "SETUSER", "small", "on", ">pw", "resetkeys", "~delayhub:*", "+@all", "-@dangerous"
    )
    browser = QueueBrowser(Connection(broker.replace("delayhub://", "delayhub://small:pw@")))

    assert browser.names() == ["reports"]
    assert browser.left_by_kombu(["reports"]) is None
    assert browser.summaries(["reports"])[0].backlog.due == 1

    browser.close()
    redis_client.execute_command("ACL", "DELUSER", "small")


def test_a_unique_key_is_freed_where_its_message_still_has_it(app: Celery, browser: QueueBrowser) -> None:
    assert not browser.has_unique_keys("celery")
    app.send_task("shop.close", task_id="a", unique="order:7")
    assert browser.has_unique_keys("celery")
    assert [(one.key, one.id) for one in browser.unique_keys("celery", limit=9).found] == [("order:7", "a")]
    assert [one.id for one in browser.unique_keys("celery", limit=9, wanted="RDER").found] == ["a"]

    assert not browser.free_unique_key("celery", "order:7", holder="b")
    assert browser.free_unique_key("celery", "order:7", holder="a")
    assert browser.unique_keys("celery", limit=9).found == []
