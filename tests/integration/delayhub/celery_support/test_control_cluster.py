"""Control without workers, and the queue pages' browser, on a Redis Cluster."""

from __future__ import annotations

import logging
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.exceptions import ImproperlyConfigured, WorkerShutdown

import delayhub
from delayhub.celery_support.queue_browser import QueueBrowser
from delayhub.celery_support.queue_verbs import over_place, reschedule, transfer
from delayhub.celery_support.startup_checks import StartupChecks
from delayhub.engine import Counts, Place
from delayhub.engine.queue_slots import QueueSlots
from delayhub.errors import OptionError
from delayhub.local.redis_server import RedisServer
from delayhub.redis_cluster import QueuesApart
from tests.cluster import LocalCluster

QUEUES = ("red", "green", "blue", "black")


@pytest.fixture
def app(cluster: LocalCluster, current_celery: Celery) -> Any:
    """An app on the cluster, with a task waiting and one in line on each of four queues."""
    current_celery.conf.broker_url = cluster.url
    found = delayhub.install(current_celery)
    for queue in QUEUES:
        for name, countdown in (("later", 600), ("now", None)):
            found.send_task("shop.close", task_id=f"{queue}-{name}", queue=queue, countdown=countdown)
    return found


def test_queues_of_all_nodes_are_counted_listed_and_changed(app: Any) -> None:
    found = {name: app.control.counts(name)[name] for name in QUEUES}
    waiting = [task.id for task in app.control.scheduled(limit=10)]
    app.control.revoke("red-later")

    assert found == dict.fromkeys(QUEUES, Counts(1, 1, 0, 0))
    assert sorted(waiting) == sorted(f"{queue}-later" for queue in QUEUES)
    assert app.control.reschedule("green-later", countdown=60)
    assert app.control.counts("red")["red"].waiting == 0
    assert {name: backlog.due for name, backlog in app.control.backlogs().items() if name in QUEUES} == dict.fromkeys(
        QUEUES, 1
    )


def test_the_browser_of_queue_pages_sees_them_and_moves_none_between_nodes(app: Any) -> None:
    browser = QueueBrowser(app.connection_for_write())

    summaries = {each.name: each for each in browser.summaries(browser.names())}
    with pytest.raises(QueuesApart, match="moves no message to another queue"):
        transfer(browser.queue("red"), ["red-later"], to=browser.queue("green"))

    assert {name: summaries[name].backlog.waiting for name in QUEUES} == dict.fromkeys(QUEUES, 1)
    assert browser.left_by_kombu(QUEUES) == 0
    assert [listed.id for listed in browser.queue("red").list(Place.WAITING)] == ["red-later"]
    browser.close()


def test_a_queue_in_eight_slots_is_one_queue_to_people(app: Any) -> None:
    before, after = app.control.slots("grey"), app.control.slots("grey", 8)
    for number in range(30):
        app.send_task("shop.close", task_id=f"grey-{number}", queue="grey", countdown=600)
    browser = QueueBrowser(app.connection_for_write())
    grey = browser.queue("grey")
    [summary] = browser.summaries(["grey"])
    search = browser.search("grey", Place.WAITING, "grey-1", with_arguments=False)
    moved = over_place(grey, Place.WAITING, partial(reschedule, grey, due_ms=0))
    browser.close()

    assert (before, after) == (QueueSlots(1, 1), QueueSlots(8, 8))
    assert len(grey.parts) == 8
    assert summary.backlog.waiting == 30
    assert summary.next_at is not None
    assert len(search.found) == 11
    assert moved == (30, 0)
    assert app.control.backlogs("grey")["grey"].due == 30
    app.control.revoke([f"grey-{number}" for number in range(29)])
    assert app.control.counts("grey")["grey"] == Counts(0, 1, 0, 0)


def test_slots_that_cannot_be_are_refused(app: Any, broker: str) -> None:
    with pytest.raises(OptionError, match="1, 2, 4, 8, 16, 32 or 64 slots, got 3"):
        app.control.slots("red", 3)
    app.conf.broker_url = broker
    with pytest.raises(OptionError, match="on a Redis Cluster only: its scheme is delayhub-cluster://"):
        app.control.slots("red", 2)


def test_check_looks_at_every_master(app: Any) -> None:
    fitness, left = app.control.examine()

    assert fitness.server.endswith("a cluster of 3 masters")
    assert len(fitness.warnings) == 6  # nothing on disk, no replica
    assert left is not None
    assert left.total == 0


def test_what_does_not_run_on_a_cluster_says_what_to_write(app: Any) -> None:
    app.conf.result_backend = app.conf.broker_url

    with pytest.raises(ImproperlyConfigured, match="does not run on a Redis Cluster: set result_backend to another"):
        app._get_backend()
    with pytest.raises(OptionError, match="kombu's own transport does not run on delayhub-cluster://"):
        app.control.import_redis()


@pytest.mark.parametrize("fault", ["only database 0", "without cluster mode: its scheme is delayhub://"])
def test_a_worker_that_cannot_run_on_what_its_url_names_says_so_before_it_connects(
    cluster: LocalCluster, redis_server: RedisServer, app: Any, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    is_lone = fault.startswith("without")
    port = redis_server.port if is_lone else cluster.masters[0].port
    app.conf.broker_url = f"delayhub-cluster://127.0.0.1:{port}/{0 if is_lone else 1}"
    logging.getLogger("delayhub.celery_support.startup_checks").propagate = True

    with pytest.raises(WorkerShutdown):
        StartupChecks(SimpleNamespace(app=app))

    assert fault in caplog.text
