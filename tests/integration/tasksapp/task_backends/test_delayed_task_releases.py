"""Delayed tasks that a release renames, moves to another queue or removes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from celery import Celery
from django.utils import timezone

from delayhub import delayed_task
from tasksapp import jobs
from tasksapp.models import Status
from tasksapp.sql.claim_jobs import NOT_TAKEN
from tasksapp.tasks import _forward
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.claiming import claim

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("current_celery")]


@pytest.fixture(autouse=True)
def _allowed_queue(settings: Any) -> None:
    settings.DELAYHUB |= {"ALLOWED_QUEUES": ["parcels"]}


def sent_for(scheduled: Any, app: Celery, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str | None]:
    """The name and the queue of the message that a worker sends for the job."""
    sent: list[tuple[str, str | None]] = []
    monkeypatch.setattr(app, "send_task", lambda name, *, queue, **_: sent.append((name, queue)))
    (job,) = claim(scheduled.id, forward_seconds=300).forwarded
    _forward(app, job, now_ms=0, using="default", worker="w1")
    (message,) = sent
    return message


def test_while_its_biz_type_has_an_alias_its_messages_have_that_name_which_both_releases_know(
    make_biz_type: MakeBizType, current_celery: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    biz_type = make_biz_type("shop.ship", target="celery", task_name="tests.shop.send", task_queue="parcels")

    @delayed_task(biz_type="shop.ship", name="tests.shop.ship", aliases=["tests.shop.send"], queue="shipping")
    def ship() -> None:
        """Does nothing."""

    assert current_celery.tasks["tests.shop.send"]  # it is no other task
    assert sent_for(ship.schedule(), current_celery, monkeypatch) == ("tests.shop.send", "shipping")
    biz_type.refresh_from_db()
    assert biz_type.task_name == "tests.shop.send"


@pytest.mark.parametrize(
    ("own", "biz_types", "taken"),
    [
        ("shipping", "parcels", "shipping"),  # the code's comes first
        (None, "parcels", "parcels"),
        (None, "", None),  # Celery decides
    ],
)
def test_the_queue_of_a_delayed_task_is_its_own_or_else_that_of_its_biz_type(
    own: str | None,
    biz_types: str,
    taken: str | None,
    make_biz_type: MakeBizType,
    current_celery: Celery,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = f"shop.queue.{own}.{biz_types or 'none'}".lower()
    make_biz_type(code, target="celery", task_name=f"tests.{code}", task_queue=biz_types)

    @delayed_task(biz_type=code, name=f"tests.{code}", queue=own)
    def ship() -> None:
        """Does nothing."""

    assert sent_for(ship.schedule(), current_celery, monkeypatch) == (f"tests.{code}", taken)


def test_a_worker_that_does_not_know_the_task_takes_the_queue_of_its_biz_type(
    make_biz_type: MakeBizType, current_celery: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = {"task": "tests.shop.weigh", "queue": "parcels", "max_attempts": None}
    make_biz_type("shop.weigh", target="celery", task_name="tests.shop.weigh", task_queue="parcels", declared=declared)
    made = jobs.create("shop.weigh")

    assert sent_for(made.job, current_celery, monkeypatch) == ("tests.shop.weigh", "parcels")


def test_a_renamed_task_goes_on_though_its_biz_type_has_the_old_name(
    make_biz_type: MakeBizType, current_celery: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_biz_type("shop.remind", target="celery", task_name="shop.old_name")

    @delayed_task(biz_type="shop.remind", name="shop.new_name")
    def remind() -> None:
        """Does nothing."""

    assert sent_for(remind.schedule(), current_celery, monkeypatch) == ("shop.new_name", None)


def test_a_task_that_no_worker_takes_is_sent_again_and_the_row_says_why(make_biz_type: MakeBizType) -> None:
    make_biz_type("shop.weigh", target="celery", task_name="tests.shop.weigh")
    job, now = jobs.create("shop.weigh").job, timezone.now()

    claim(job.id, now=now, forward_seconds=300)
    job.refresh_from_db()
    assert job.last_error == ""

    (again,) = claim(job.id, now=now + timedelta(seconds=301), forward_seconds=300).forwarded
    job.refresh_from_db()
    assert again.id == job.id
    assert (job.status, job.last_error) == (Status.PENDING, NOT_TAKEN)
