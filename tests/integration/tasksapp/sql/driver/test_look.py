"""A look: the same answers in both dialects, within a transaction and outside, whose plan is kept."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tasksapp.models import BizType
from tasksapp.sql.driver.look import Look, is_so

pytestmark = pytest.mark.django_db(transaction=True)
_LOOK = Look(
    "SELECT {dialect}, code, created_at > {since}, created_at <= {until} FROM delayhub_biz_type",
    moments=("since", "until"),
    postgresql={"dialect": "'postgresql'"},
    other={"dialect": "'other'"},
)


@pytest.mark.parametrize("around", [nullcontext, transaction.atomic])
def test_it_answers_about_moments(biz_type: BizType, around: type[AbstractContextManager[None]]) -> None:
    hour = timedelta(hours=1)
    dialect = "postgresql" if connection.vendor == "postgresql" else "other"

    with around():
        ((said, code, after, before),) = _LOOK.rows(connection, since=None, until=timezone.now() + hour)
        ((*_, after_now, before_then),) = _LOOK.rows(connection, until=timezone.now() - hour, since=timezone.now())

    assert (said, code) == (dialect, biz_type.code)
    assert [is_so(after), is_so(before)] == [True, True]
    assert [is_so(after_now), is_so(before_then)] == [False, False]


@pytest.mark.postgresql_only  # SQLite keeps no plans
def test_its_plan_is_kept_until_it_is_forgotten(biz_type: BizType) -> None:
    connection.close()
    for _ in range(3):
        _LOOK.rows(connection, since=None, until=None)
    assert kept_plans() == 1

    _LOOK.forget(connection)

    assert kept_plans() == 0
    assert len(_LOOK.rows(connection, since=None, until=None)) == 1


def kept_plans() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%created_at >%%'")
        return int(cursor.fetchone()[0])
