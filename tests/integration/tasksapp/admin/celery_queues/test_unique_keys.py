"""The page of a queue's unique keys: what it shows, to whom, and how a key is freed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
import redis
from celery import Celery, current_app
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from delayhub.engine import DelayQueue, Entry
from delayhub.engine.key_holders import look_at_keys
from delayhub.engine.unique import UniqueKey, Until, WhenTaken, offer
from tasksapp.admin.audit.words import changes_of, deed_label
from tasksapp.admin.celery_queues.unique_keys import SHOWN, shown_key
from tasksapp.models import AuditEntry
from tasksapp.queues.heartbeats import Beat, write_beat
from tests.cluster import LocalCluster
from tests.redis_time import redis_now_ms

pytestmark = pytest.mark.django_db

QUEUE, KEYS, FREE = (
    "admin:tasksapp_celeryqueue_queue",
    "admin:tasksapp_celeryqueue_keys",
    "admin:tasksapp_celeryqueue_free_key",
)
YEAR_2096_MS = 4_000_000_000_000


@pytest.fixture
def queue(app: Celery, redis_client: redis.Redis) -> DelayQueue:
    return DelayQueue(redis_client, "celery")


def put(queue: DelayQueue, name: str, key: str, *, due_ms: int = 0, **of_key: object) -> None:
    options = {"when_taken": WhenTaken.WAIT, **of_key}
    offer(queue, Entry(name, due_ms, b"{}"), UniqueKey(key=key, **options))  # type: ignore[arg-type]  # as the tests give them


def html_of(client: Client, name: str = KEYS, **query: str) -> str:
    answer = client.get(reverse(name), {"queue": "celery", **query})
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def words_of(page: str) -> str:
    """What a person reads."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def choices(page: str) -> list[str]:
    """What the buttons of the rows send."""
    return [html.unescape(found) for found in re.findall(r'name="chosen" value="([^"]*)"', page)]


def free(client: Client, choice: str, **more: str) -> Any:
    return client.post(reverse(FREE), {"queue": "celery", "chosen": choice, **more}, follow=True)


def test_each_key_names_its_message_and_what_becomes_of_it(
    queue: DelayQueue, admin_client: Client, redis_client: redis.Redis
) -> None:
    put(queue, "m-run", "shop.close(order=1)")
    queue.claim(10, lease_ms=600_000)
    put(queue, "m-next", "shop.close(order=1)")
    put(queue, "m-wait", "shop.close(order=2)", due_ms=YEAR_2096_MS, until=Until.START)
    put(queue, "m-line", "shop.close(order=3)")
    put(queue, "m-timed", "timed", until=Until.TIME, milliseconds=600_000)
    queue.cancel(["m-timed"])
    put(queue, "m-late", "late", due_ms=YEAR_2096_MS, expires_ms=1)
    now_ms = redis_now_ms(redis_client)
    task = ("m-run", "shop.close", now_ms - 65_000)
    write_beat(redis_client, Beat(name="a:1:t", node="w@a", queues=["celery"], tasks=[task], seen_ms=now_ms))

    page = html_of(admin_client)

    words = words_of(page)
    assert re.search(r"\(order=1\) m-run With a worker w@a running for 1 min \d+ s its task ends 1 Free …", words)
    assert re.search(r"shop.close\(order=2\) m-wait Waiting due in \d+ years a worker takes it - Free", words)
    assert re.search(r"shop.close\(order=3\) m-line In line due (now|\d+ s ago) its task ends - Free", words)
    assert "timed m-timed done, or gone in 9 minutes - Free" in words
    assert "late m-late Expired the next call takes the key" in words
    assert f"{reverse(QUEUE)}?queue=celery&amp;tab=leased&amp;q=m-run" in page
    assert "Unique keys that are taken" in words_of(html_of(admin_client, QUEUE))


def test_a_queue_without_keys_links_to_none(queue: DelayQueue, admin_client: Client) -> None:
    assert reverse(KEYS) not in html_of(admin_client, QUEUE)
    assert "No unique key is taken." in html_of(admin_client)


def test_a_page_shows_some_and_a_search_finds_the_others(queue: DelayQueue, admin_client: Client) -> None:
    for number in range(SHOWN + 10):
        put(queue, f"m-{number:02}", f"order:{number:02}")

    first, found, none = (words_of(html_of(admin_client, q=wanted)) for wanted in ("", "ORDER:59", "nothing"))

    assert f"{SHOWN} of 60 keys" in first
    assert ("order:49" in first, "order:50" in first) == (True, False)
    assert "Keys found for “ORDER:59”: 1." in found
    assert "m-59" in found
    assert "No key was found." in none
    assert "m-58" in words_of(html_of(admin_client, q="m-58"))


def test_a_viewer_sees_no_key_finds_none_by_its_text_and_frees_none(
    queue: DelayQueue, person_with: Callable[..., Client]
) -> None:
    put(queue, "m-1", "card-4711")
    viewer = person_with("view_celery_queue")

    page = html_of(viewer)

    assert "m-1" in page
    assert "card-4711" not in page
    assert "hidden (9 bytes)" in page
    assert choices(page) == []
    assert "No key was found." in html_of(viewer, q="card-4711")
    assert "m-1" in words_of(html_of(viewer, q="m-1"))
    assert free(viewer, "x:m-1", confirmed="yes").status_code == 403
    assert [one.id for one in look_at_keys(queue, limit=1000).found] == ["m-1"]
    assert person_with().get(reverse(KEYS), {"queue": "celery"}).status_code == 403


def test_who_may_act_but_not_see_arguments_frees_a_key_unseen(
    queue: DelayQueue, person_with: Callable[..., Client]
) -> None:
    put(queue, "m-1", "card-4711")
    actor = person_with("view_celery_queue", "change_celery_queue")

    (choice,) = choices(html_of(actor))
    asked, done = free(actor, choice), free(actor, choice, confirmed="yes")

    assert "hidden (9 bytes)" in asked.content.decode()
    assert "card-4711" not in asked.content.decode() + done.content.decode() + choice
    assert "The key is free." in words_of(done.content.decode())
    assert look_at_keys(queue, limit=1000).found == []


def test_a_key_is_freed_after_a_question_and_that_is_recorded(
    queue: DelayQueue, admin_client: Client, rf: Any, django_user_model: Any
) -> None:
    put(queue, "m-1", "order:7")
    queue.claim(1, lease_ms=600_000)
    put(queue, "m-2", "order:7")

    (choice,) = choices(html_of(admin_client))
    asked = words_of(free(admin_client, choice).content.decode())
    assert [one.id for one in look_at_keys(queue, limit=1000).found] == ["m-1"]
    done = words_of(free(admin_client, choice, confirmed="yes", reason="it hangs").content.decode())

    assert "order:7" in asked
    assert "the two run beside each other" in asked
    assert "the first message that waits for it has it now" in done
    assert [one.id for one in look_at_keys(queue, limit=1000).found] == ["m-2"]
    told = AuditEntry.objects.get()
    assert (told.verb, told.what, told.reason) == ("queue.free_key", "celery", "it hangs")
    assert told.after["ids"] == ["m-1"]
    assert deed_label(told.verb) == "free a unique key"
    request = rf.get("/")
    request.user = User.objects.get(username="admin")
    assert [change.after for change in changes_of(request, told)] == ["m-1", "order:7"]
    request.user = User.objects.create_user("viewer")
    assert [change.after for change in changes_of(request, told)] == ["m-1", "7 bytes"]


def test_a_key_that_another_message_has_by_now_is_not_freed(queue: DelayQueue, admin_client: Client) -> None:
    put(queue, "m-1", "order:7")
    (choice,) = choices(html_of(admin_client))
    queue.cancel(["m-1"])
    put(queue, "m-2", "order:7")

    page = words_of(free(admin_client, choice, confirmed="yes").content.decode())

    assert "Nothing was freed: that message does not have the key any more." in page
    assert [one.id for one in look_at_keys(queue, limit=1000).found] == ["m-2"]
    assert not AuditEntry.objects.exists()


def test_a_key_that_is_taken_for_a_time_is_freed(queue: DelayQueue, admin_client: Client) -> None:
    put(queue, "m-1", "order:7", until=Until.TIME, milliseconds=600_000)

    (choice,) = choices(html_of(admin_client))
    page = words_of(free(admin_client, choice, confirmed="yes").content.decode())

    assert "The key is free." in page
    assert look_at_keys(queue, limit=1000).found == []


@pytest.mark.parametrize("form", [{}, {"queue": "celery"}, {"queue": "celery", "chosen": "x"}, {"chosen": "x:y"}])
def test_a_request_that_names_no_key_is_refused(app: Celery, admin_client: Client, form: dict[str, str]) -> None:
    assert admin_client.post(reverse(FREE), form).status_code == 400
    assert admin_client.get(reverse(FREE), form).status_code == 400
    assert admin_client.get(reverse(KEYS)).status_code == 400


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("a\nb\x1b\u202e", r"a\nb\x1b\u202e"),
        ("王小明 7", "王小明 7"),
    ],
)
def test_a_key_is_shown_and_freed_whatever_is_in_it(
    queue: DelayQueue, admin_client: Client, key: str, shown: str
) -> None:
    put(queue, "m-1", key)

    page = html_of(admin_client)

    assert shown_key(key) == shown
    assert f"<bdi>{shown}</bdi>" in page
    free(admin_client, choices(page)[0], confirmed="yes")
    assert look_at_keys(queue, limit=1000).found == []


@pytest.mark.parametrize("page", [QUEUE, KEYS])
def test_an_address_that_names_no_queue_is_refused(app: Celery, admin_client: Client, page: str) -> None:
    for name in ("", "a\0b"):
        answer = admin_client.get(reverse(page), {"queue": name})
        assert answer.status_code == 400


def test_a_search_with_nul_finds_nothing_and_breaks_nothing(queue: DelayQueue, admin_client: Client) -> None:
    put(queue, "m-1", "order:7")

    assert "No key was found." in html_of(admin_client, q="order\0")


def test_while_redis_is_away_the_page_says_so(queue: DelayQueue, admin_client: Client) -> None:
    put(queue, "m-1", "order:7")
    (choice,) = choices(html_of(admin_client))
    current_app.conf.broker_url = "delayhub://127.0.0.1:1/0"

    assert "does not answer" in words_of(html_of(admin_client))
    assert "does not answer" in words_of(free(admin_client, choice, confirmed="yes").content.decode())


def test_a_broker_of_another_kind_is_named_plainly(current_celery: Celery, admin_client: Client) -> None:
    current_celery.conf.broker_url = "redis://127.0.0.1:1/0"

    assert "redis://, which only" in words_of(html_of(admin_client))
    assert "redis://, which only" in words_of(free(admin_client, "x:y").content.decode())


def test_keys_of_a_queue_in_slots_are_shown_and_freed(app: Celery, cluster: LocalCluster, admin_client: Client) -> None:
    app.conf.broker_url = cluster.url
    current_app.control.slots("reports", 8)
    for number in range(20):
        app.send_task("shop.close", task_id=f"task-{number:02}", queue="reports", unique=f"order:{number:02}")

    page = admin_client.get(reverse(KEYS), {"queue": "reports"}).content.decode()
    by_message = dict(reversed(choice.split(":")) for choice in choices(page))
    form = {"queue": "reports", "chosen": f"{by_message['task-07']}:task-07", "confirmed": "yes"}
    done = words_of(admin_client.post(reverse(FREE), form, follow=True).content.decode())

    assert len(by_message) == 20
    assert "The key is free." in done
    assert len(current_app.control.unique_keys("reports")["reports"]) == 19
