"""Which workers know a Celery task: asked over a real broker."""

from __future__ import annotations

import pytest
from celery import Celery

from tasksapp.admin.biz_types import test_call
from tasksapp.admin.biz_types.test_call import ask_workers, queue_of
from tasksapp.models import BizType


def biz_type(task: str = "shop.close", queue: str = "") -> BizType:
    return BizType(code="a", target=BizType.Target.CELERY, task_name=task, task_queue=queue)


@pytest.fixture
def shop(current_celery: Celery, broker: str) -> Celery:
    current_celery.conf.update(broker_url=broker, task_default_queue="orders")

    @current_celery.task(name="shop.close", shared=False)
    def close() -> None:
        """Closes an order."""

    return current_celery


def test_a_queue_is_that_of_the_biz_type_or_the_projects_own(shop: Celery) -> None:
    assert queue_of(biz_type()) == "orders"
    assert queue_of(biz_type(queue="urgent")) == "urgent"


def test_no_answer_is_no_worker(shop: Celery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_call, "WAIT_SECONDS", 0.1)

    asked = ask_workers(biz_type())

    assert asked.broker_answers
    assert (asked.answering, asked.knowing, asked.consuming) == ([], [], [])


@pytest.mark.timeout(30)
def test_a_broker_that_is_away_is_said_to_be_and_not_waited_for(shop: Celery) -> None:
    shop.conf.update(broker_url="delayhub://127.0.0.1:1/0", broker_connection_timeout=100)

    assert not ask_workers(biz_type()).broker_answers


class Replies:
    """What two workers reply; only the first has the task, and takes its queue."""

    def registered(self) -> dict[str, list[str]]:
        return {"w1@a": ["shop.close [rate_limit=1/m]", "shop.pay"], "w2@a": ["shop.pay"]}

    def active_queues(self) -> dict[str, list[dict[str, str]]]:
        return {"w1@a": [{"name": "orders"}], "w2@a": [{"name": "mails"}]}


def test_workers_say_which_tasks_and_queues_they_have(shop: Celery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shop.control, "inspect", lambda **options: Replies())

    asked, other = ask_workers(biz_type()), ask_workers(biz_type("shop.open", queue="urgent"))

    assert asked.answering == other.answering == ["w1@a", "w2@a"]
    assert asked.knowing == asked.consuming == ["w1@a"]
    assert (other.knowing, other.consuming) == ([], [])
