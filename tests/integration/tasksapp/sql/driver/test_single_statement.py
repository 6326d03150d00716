"""Single creates on PostgreSQL go past Django's cursor where that changes nothing else."""

from __future__ import annotations

import socket

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tasksapp.models import BizType
from tasksapp.sql.driver.single_statement import may_be_single

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql_only]


def test_a_statement_is_single_outside_of_transactions_only(biz_type: BizType) -> None:
    assert may_be_single(connection)
    with transaction.atomic():
        assert not may_be_single(connection)
    with CaptureQueriesContext(connection):
        assert not may_be_single(connection)


def test_greenlets_wait_for_each_other_only_where_they_must(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Cooperative(socket.socket):
        """As gevent replaces it."""

    monkeypatch.setattr(socket, "socket", Cooperative)
    assert not may_be_single(connection)
