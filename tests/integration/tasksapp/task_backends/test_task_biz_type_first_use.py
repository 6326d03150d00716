"""The first use of a biz type by a delayed task: it holds up no other one."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from celery import Celery
from django.db import connection, transaction

from delayhub import delayed_task
from tasksapp.models import BizType, Job
from tasksapp.task_backends.task_biz_type import make_at_first_use

CELERY = {"target": BizType.Target.CELERY, "task_name": "tests.first.use"}


@delayed_task(biz_type="first.use", name="tests.first.use")
def first_use() -> None:
    """Does nothing."""


def make(**defaults: Any) -> BizType:
    return make_at_first_use("first.use", defaults={**CELERY, **defaults}, using="default")


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only
def test_the_first_use_in_a_long_transaction_holds_up_no_other(current_celery: Celery) -> None:
    made, done, failures = threading.Event(), threading.Event(), []

    def long_transaction() -> None:
        try:
            with transaction.atomic():
                first_use.schedule()
                made.set()
                assert done.wait(60)
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=long_transaction)
    thread.start()
    assert made.wait(60)

    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = 5000")  # it waited until the other transaction ended
        first_use.schedule()
    committed_meanwhile = Job.objects.count()
    done.set()
    thread.join(60)

    assert failures == []
    assert (committed_meanwhile, Job.objects.count(), BizType.objects.count()) == (1, 2, 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only
def test_it_stays_where_the_caller_rolls_back() -> None:
    with pytest.raises(LookupError), transaction.atomic():
        make()
        raise LookupError

    assert BizType.objects.get().task_name == "tests.first.use"


@pytest.mark.django_db(transaction=True)
@pytest.mark.postgresql_only
def test_where_another_transaction_makes_it_for_long_the_caller_waits_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tasksapp.task_backends.task_biz_type.LOCK_TIMEOUT_MS", 100)
    made, waited = threading.Event(), threading.Event()

    def older_release() -> None:
        try:
            with transaction.atomic():
                BizType.objects.create(code="first.use", **CELERY)
                made.set()
                waited.wait(1)
        finally:
            connection.close()

    thread = threading.Thread(target=older_release)
    thread.start()
    assert made.wait(60)
    with transaction.atomic():
        found = make()
    thread.join(60)

    assert BizType.objects.get() == found


@pytest.mark.django_db(transaction=True)
def test_one_that_exists_stays_as_it_is() -> None:
    first = make(description="one")

    with transaction.atomic():
        again = make(description="two")

    assert (again, again.description) == (first, "one")


@pytest.mark.django_db
def test_in_a_test_case_it_goes_with_the_transaction_of_the_test() -> None:
    with transaction.atomic():
        make()
        transaction.set_rollback(True)

    assert not BizType.objects.exists()
