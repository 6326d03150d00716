"""A look: the same answers in both dialects, within a transaction and outside, whose plan is kept."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tasksapp.models import BizType
from tasksapp.sql.driver import look
from tasksapp.sql.driver.look import Look

pytestmark = pytest.mark.django_db(transaction=True)


def new_look() -> Look:
    return Look(
        "SELECT {dialect}, code, created_at > {since}, created_at <= {until} FROM delayhub_biz_type",
        moments=("since", "until"),
        postgresql={"dialect": "'postgresql'"},
        other={"dialect": "'other'"},
    )


@pytest.mark.parametrize("around", [nullcontext, transaction.atomic])
def test_it_answers_about_moments(biz_type: BizType, around: type[AbstractContextManager[None]]) -> None:
    hour = timedelta(hours=1)
    dialect = "postgresql" if connection.vendor == "postgresql" else "other"

    one = new_look()

    with around():
        ((said, code, after, before),) = one.rows(connection, since=None, until=timezone.now() + hour)
        ((*_, after_now, before_then),) = one.rows(connection, until=timezone.now() - hour, since=timezone.now())

    assert (said, code) == (dialect, biz_type.code)
    assert [bool(after), bool(before)] == [True, True]
    assert [bool(after_now), bool(before_then)] == [False, False]


@pytest.mark.postgresql_only  # SQLite keeps no plans
def test_its_plan_is_kept(biz_type: BizType) -> None:
    connection.close()
    one = new_look()

    counts = [len(one.rows(connection, since=None, until=None)) and kept_plans() for _ in range(3)]

    assert counts == [0, 1, 1]


@pytest.mark.postgresql_only  # as above
def test_a_plan_that_is_slow_is_made_anew(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    monkeypatch.setattr(look, "SLOW_SECONDS", -1.0)
    one = new_look()

    counts = [len(one.rows(connection, since=None, until=None)) and kept_plans() for _ in range(3)]

    assert counts == [0, 0, 0]


def kept_plans() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%created_at >%%'")
        return int(cursor.fetchone()[0])
