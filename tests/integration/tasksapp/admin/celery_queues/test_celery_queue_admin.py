"""The pages of Celery's queues: what they show (rows), to whom (page_entry, broker_pages), what is done (deeds)."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest
import redis
from celery import Celery
from django.db import connection
from django.test import Client
from django.urls import reverse

from delayhub.beat import Scheduler
from delayhub.engine import DelayQueue, Entry, TimerLane
from tasksapp.admin.audit.words import deed_label
from tasksapp.models import AuditEntry
from tasksapp.queues.celery_broker import QueueVerb
from tasksapp.queues.heartbeats import Beat, write_beat
from tests.integration.tasksapp.admin.celery_queues.pages import ACT, OVERVIEW, QUEUE, act, html_of
from tests.page_words import words_of
from tests.redis_time import redis_now_ms

pytestmark = pytest.mark.django_db

YEAR_2096_MS = 4_000_000_000_000


def bury_all(queue: DelayQueue) -> None:
    while entries := queue.claim(1000).entries:
        queue.bury([queue.lease(entry.id, entry.token) for entry in entries], reason="it broke")


# ---------------------------------------------------------------- all queues


def test_every_queue_is_listed_with_what_it_has(app: Celery, admin_client: Client, redis_client: redis.Redis) -> None:
    app.send_task("shop.close", queue="reports", countdown=1000)
    TimerLane(redis_client, "delayhub.timers").ensure("close", [("due", 1_000)])

    page = words_of(html_of(admin_client, OVERVIEW))

    assert "reports 1 0 0 0 - in 16" in page
    assert "delayhub.timers timers of jobs no worker seen 0 1 0 0" in page
    assert "celery 0 0 0 0" in page


def test_a_periodic_task_that_beat_leaves_out_is_named_with_the_reason(app: Celery, admin_client: Client) -> None:
    said = "Beat leaves out the periodic task closing/now: an interval must be at least 0.001 s, got 0 s"
    app.main = "closing"
    app.conf.beat_schedule = {"now": {"task": "shop.close", "schedule": 0}}
    beat = Scheduler(app)
    assert said not in words_of(html_of(admin_client, OVERVIEW))
    beat.tick()
    beat.close()

    assert said in words_of(html_of(admin_client, OVERVIEW))


def test_a_queue_that_a_worker_takes_says_so(
    app: Celery, queue: DelayQueue, admin_client: Client, redis_client: redis.Redis
) -> None:
    queue.schedule([Entry("a")])
    assert "celery no worker seen" in words_of(html_of(admin_client, OVERVIEW))

    write_beat(redis_client, Beat(name="a:1:t", node="w@a", queues=["celery"], seen_ms=1))

    page = words_of(html_of(admin_client, OVERVIEW))
    assert "no worker seen" not in page
    assert "1 worker" in page


def test_queues_are_found_by_their_names(app: Celery, admin_client: Client) -> None:
    app.send_task("shop.close", queue="reports")

    page = words_of(html_of(admin_client, OVERVIEW, q="REP"))

    assert "reports" in page
    assert "delayhub.timers" not in page
    assert "No queue has “nothing” in its name." in words_of(html_of(admin_client, OVERVIEW, q="nothing"))


def test_the_table_is_had_by_itself_to_refresh_it(app: Celery, admin_client: Client) -> None:
    answer = admin_client.get(reverse(OVERVIEW), {"fragment": "1"})

    assert "<table" in answer.content.decode()
    assert "<html" not in answer.content.decode()
    assert answer["Delayhub-As-Of"]


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "amqp://guest@localhost//"])
def test_a_broker_of_another_kind_is_named_plainly(url: str, current_celery: Celery, admin_client: Client) -> None:
    current_celery.conf.broker_url = url

    page = html_of(admin_client, OVERVIEW)

    assert f"Celery&#x27;s broker is {url.split(':', maxsplit=1)[0]}://" in page


def test_while_redis_is_away_the_pages_say_so(app: Celery, admin_client: Client) -> None:
    app.conf.broker_url = "delayhub://127.0.0.1:1/0"

    assert "Redis at 127.0.0.1:1/0 does not answer" in html_of(admin_client, OVERVIEW)
    assert "Redis at 127.0.0.1:1/0 does not answer" in html_of(admin_client, QUEUE, queue="celery")
    assert "Redis at 127.0.0.1:1/0 does not answer" in act(admin_client, "run_now", "waiting", ["a"]).content.decode()


def test_a_broker_that_hangs_is_waited_for_once_for_several_pages(app: Celery, admin_client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)  # it takes connections, and never says a word
        app.conf.broker_url = f"delayhub://127.0.0.1:{silent.getsockname()[1]}/0"

        assert all("does not answer" in html_of(admin_client, OVERVIEW) for _ in range(3))
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_messages_of_kombus_own_transport_are_pointed_out(
    app: Celery, admin_client: Client, redis_client: redis.Redis
) -> None:
    redis_client.rpush("celery", "{}", "{}")

    assert "2 messages of kombu's own Redis transport" in html_of(admin_client, OVERVIEW)


def test_nothing_is_done_by_a_get(app: Celery, admin_client: Client) -> None:
    assert admin_client.get(reverse(ACT), {"verb": "revoke", "queue": "celery"}).status_code == 400


# ---------------------------------------------------------------- one queue


def test_a_page_shows_what_waits_the_soonest_first(app: Celery, admin_client: Client) -> None:
    app.send_task("shop.later", ["<b>"], {"x": 1}, countdown=2000)
    app.send_task("shop.sooner", countdown=1000)

    page = html_of(admin_client, QUEUE, queue="celery")

    assert page.index("shop.sooner") < page.index("shop.later")
    assert "&#x27;&lt;b&gt;&#x27;, {&#x27;x&#x27;: 1}" in page


def test_long_queues_have_pages(queue: DelayQueue, admin_client: Client) -> None:
    queue.schedule([Entry(f"m{number:03}", YEAR_2096_MS + number) for number in range(120)])

    first = words_of(html_of(admin_client, QUEUE, queue="celery"))
    last = words_of(html_of(admin_client, QUEUE, **{"queue": "celery", "from": 100}))

    assert "1 to 50 of 120" in first
    assert "101 to 120 of 120" in last
    assert "m119" in last


@pytest.mark.parametrize("begin", ["-1", "x", "9" * 40, "²", "5000000"])
def test_a_nonsense_place_in_the_address_does_no_harm(begin: str, queue: DelayQueue, admin_client: Client) -> None:
    html_of(admin_client, QUEUE, **{"queue": "celery", "from": begin, "tab": "nonsense"})


def test_an_address_without_a_queue_is_refused(app: Celery, admin_client: Client) -> None:
    assert admin_client.get(reverse(QUEUE)).status_code == 400


def test_a_name_with_any_characters_is_a_queue(app: Celery, admin_client: Client, redis_client: redis.Redis) -> None:
    name = 'a/b?c="<x>&é#'
    DelayQueue(redis_client, name).schedule([Entry("m1", YEAR_2096_MS)])
    redis_client.sadd("delayhub:queues", name)

    [address] = re.findall(r'<a href="([^"]+queue=a%2F[^"]+)">a/b', html_of(admin_client, OVERVIEW))
    page = admin_client.get(address.replace("&amp;", "&")).content.decode()

    assert "m1" in page
    assert 'value="a/b?c=&quot;&lt;x&gt;&amp;é#"' in page


def test_a_running_task_names_its_worker(
    app: Celery, queue: DelayQueue, admin_client: Client, redis_client: redis.Redis
) -> None:
    queue.schedule([Entry("run"), Entry("hold"), Entry("else")])
    queue.claim()
    now_ms = redis_now_ms(redis_client)
    beat = Beat(
        name="a:1:t", node="w@a", tasks=[("run", "x", now_ms - 65_000)], held=["hold"], running_count=1, seen_ms=now_ms
    )
    write_beat(redis_client, beat)

    page = words_of(html_of(admin_client, QUEUE, queue="celery", tab="leased"))

    assert re.search(r"w@a running for 1 min ([5-9]|[1-5]\d) s", page)  # since 65 s, and as long as the page took
    assert "w@a not begun" in page
    assert "a worker that does not name it" in page


def test_a_dead_one_says_why(queue: DelayQueue, admin_client: Client) -> None:
    queue.schedule([Entry("a")])
    bury_all(queue)

    assert "it broke" in html_of(admin_client, QUEUE, queue="celery", tab="dead")


def test_a_search_says_how_far_it_looked(app: Celery, queue: DelayQueue, admin_client: Client) -> None:
    sent = app.send_task("shop.close", ["order-77"], countdown=1000)
    app.send_task("shop.open", ["order-78"], countdown=1000)

    for wanted in ("order-77", "shop.close", sent.id):
        page = words_of(html_of(admin_client, QUEUE, queue="celery", q=wanted))
        assert "Looked at 2 of 2 messages" in page
        assert "shop.close" in page
        assert "shop.open" not in page


def test_a_timer_lane_shows_its_biz_types_and_no_buttons(
    app: Celery, admin_client: Client, redis_client: redis.Redis
) -> None:
    TimerLane(redis_client, "delayhub.timers").ensure("order.close", [("a", YEAR_2096_MS), ("b", YEAR_2096_MS)])

    page = html_of(admin_client, QUEUE, queue="delayhub.timers")

    assert "order.close 2 0" in words_of(page)
    assert "biz_type=order.close" in page
    assert 'name="verb"' not in page
    refused = {"verb": "run_now", "queue": "delayhub.timers", "place": "waiting", "ids": ["a"]}
    assert admin_client.post(reverse(ACT), refused).status_code == 400


# ---------------------------------------------------------------- verbs


def test_one_waiting_task_is_run_now_at_once_and_that_is_recorded(
    app: Celery, queue: DelayQueue, admin_client: Client
) -> None:
    sent = app.send_task("shop.close", countdown=1000)

    page = act(admin_client, "run_now", "waiting", [sent.id])

    assert "1 message is due now." in page.content.decode()
    assert queue.count().ready == 1
    told = AuditEntry.objects.get()
    assert (told.actor, told.verb, told.what) == ("admin", "queue.run_now", "celery")
    assert told.after == {"place": "waiting", "done": 1, "left": 0, "ids": [sent.id]}


def test_several_are_asked_for_first(queue: DelayQueue, admin_client: Client) -> None:
    queue.schedule([Entry("a", YEAR_2096_MS), Entry("b", YEAR_2096_MS)])

    asked = act(admin_client, "run_now", "waiting", ["a", "b"])
    assert "2 messages of celery (Waiting)." in words_of(asked.content.decode())
    assert queue.count().waiting == 2

    done = act(admin_client, "run_now", "waiting", ["a", "b"], confirmed="yes", reason="the shop is open")
    assert "2 messages are due now." in done.content.decode()
    assert AuditEntry.objects.get().reason == "the shop is open"


def test_a_task_is_moved_to_another_time(queue: DelayQueue, admin_client: Client) -> None:
    queue.schedule([Entry("a", YEAR_2096_MS)])

    assert 'type="datetime-local"' in act(admin_client, "reschedule", "waiting", ["a"]).content.decode()
    wrong = act(admin_client, "reschedule", "waiting", ["a"], confirmed="yes", due_at="soon")
    assert "Enter a valid date/time." in wrong.content.decode()
    done = act(admin_client, "reschedule", "waiting", ["a"], confirmed="yes", due_at="2090-01-01T10:00:00")

    assert "waits until 2090-01-01 10:00:00" in done.content.decode()
    assert queue.list("waiting")[0].at_ms < YEAR_2096_MS


@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT+12"])
@pytest.mark.parametrize("due_at", ["0001-01-01T00:00:00", "1969-12-31T00:00:00", "9999-12-31T23:59:59"])
def test_a_task_is_moved_to_an_end_of_the_calendar(
    queue: DelayQueue, admin_client: Client, settings: Any, zone: str, due_at: str
) -> None:
    settings.TIME_ZONE = zone
    queue.schedule([Entry("a", YEAR_2096_MS)])

    assert act(admin_client, "reschedule", "waiting", ["a"], confirmed="yes", due_at=due_at).status_code == 200

    settings.TIME_ZONE = "Pacific/Kiritimati"
    for tab in ("waiting", "ready"):
        html_of(admin_client, QUEUE, queue="celery", tab=tab)
    html_of(admin_client, OVERVIEW)


def test_tasks_are_moved_to_another_queue_but_to_no_timer_lane(
    app: Celery, queue: DelayQueue, admin_client: Client
) -> None:
    sent = app.send_task("shop.close", countdown=1000)
    app.send_task("shop.close", queue="reports")

    asked = act(admin_client, "transfer", "waiting", [sent.id]).content.decode()
    assert re.findall(r'<option value="([^"]+)"', asked) == ["reports"]
    refused = act(admin_client, "transfer", "waiting", [sent.id], confirmed="yes", target="delayhub.timers")
    assert "Select a valid choice." in refused.content.decode()
    done = act(admin_client, "transfer", "waiting", [sent.id], confirmed="yes", target="reports")

    assert "1 message is in reports now." in done.content.decode()
    assert [one.id for one in DelayQueue(queue.client, "reports").list("waiting")] == [sent.id]


def test_a_revoked_task_never_runs_and_its_state_says_so(
    app: Celery, queue: DelayQueue, admin_client: Client, broker: str
) -> None:
    app.conf.result_backend = broker.replace("delayhub://", "redis://").removesuffix("0") + "1"
    sent = app.send_task("shop.close", countdown=1000)

    assert queue.count().waiting == 1
    meaning = act(admin_client, "revoke", "waiting", [sent.id]).content.decode()
    assert "None of them runs any more" in meaning
    assert "cancel the job instead" in meaning
    done = act(admin_client, "revoke", "waiting", [sent.id], confirmed="yes")

    assert "1 message was revoked." in done.content.decode()
    assert queue.count().waiting == 0
    assert app.AsyncResult(sent.id).state == "REVOKED"


def test_a_whole_tab_of_the_dead_is_redriven_with_a_count(queue: DelayQueue, admin_client: Client) -> None:
    queue.schedule([Entry(f"m{number}") for number in range(700)])
    bury_all(queue)

    asked = act(admin_client, "redrive", "dead", whole="on")
    assert "700 messages of celery (Dead)." in words_of(asked.content.decode())
    done = act(admin_client, "redrive", "dead", whole="on", confirmed="yes")

    assert "700 messages are in line again." in done.content.decode()
    assert queue.count().ready == 700
    assert AuditEntry.objects.get().after == {"place": "dead", "done": 700, "left": 0}


def test_messages_that_are_gone_are_reported_and_nothing_is_recorded(queue: DelayQueue, admin_client: Client) -> None:
    page = act(admin_client, "run_now", "waiting", ["gone"]).content.decode()

    assert "1 message was left alone" in page
    assert not AuditEntry.objects.exists()


def test_nothing_chosen_is_nothing_done(queue: DelayQueue, admin_client: Client) -> None:
    assert "Choose messages first." in act(admin_client, "run_now", "waiting").content.decode()


@pytest.mark.parametrize(
    ("verb", "place"), [("run_now", "dead"), ("redrive", "waiting"), ("transfer", "leased"), ("drop", "dead")]
)
def test_what_cannot_be_done_is_refused(verb: str, place: str, queue: DelayQueue, admin_client: Client) -> None:
    assert act(admin_client, verb, place, ["a"]).status_code == 400


@pytest.mark.urls("tests.integration.tasksapp.admin.second_site")
def test_the_links_of_a_second_site_stay_on_it(app: Celery, admin_client: Client) -> None:
    page = admin_client.get("/second/tasksapp/celeryqueue/").content.decode()

    assert "/second/tasksapp/celeryqueue/queue/?queue=celery" in page
    assert "/admin/tasksapp/celeryqueue" not in page


def test_the_pages_ask_the_database_for_nothing_but_what_their_frame_needs(
    app: Celery, admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    # Session, person, the mark of delivery, whether the database takes writes, and who locks the table.
    most = 4 + (connection.vendor == "postgresql")
    for page in (OVERVIEW, QUEUE):
        with django_assert_max_num_queries(most):
            html_of(admin_client, page, queue="celery")


def test_the_audit_has_words_for_every_verb() -> None:
    assert [verb for verb in QueueVerb if deed_label(f"queue.{verb}") == f"queue.{verb}"] == []
