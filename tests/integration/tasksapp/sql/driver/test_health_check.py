"""A connection that answered a moment ago is trusted; one that the server has closed is not."""

from __future__ import annotations

import select

import pytest
from django.db import connection

from tasksapp.errors import InvalidJob
from tasksapp.jobs.creation import create
from tasksapp.models import BizType, Job
from tasksapp.sql.driver import health_check

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    health_check._answered.last.clear()


@pytest.mark.postgresql_only
def test_a_connection_that_answered_lately_is_not_asked_again_unless_the_server_closed_it(biz_type: BizType) -> None:
    Job.objects.count()
    connection.health_check_done = False
    health_check.trust(connection)
    assert not connection.health_check_done  # nothing has shown yet that it works

    health_check.answered(connection)
    health_check.trust(connection)
    assert connection.health_check_done

    connection.health_check_done = False
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])
    finally:
        other.close()
    select.select([connection.connection.fileno()], [], [], 10)  # until it has heard of it
    health_check.trust(connection)
    assert not connection.health_check_done
    connection.close()


@pytest.mark.postgresql_only
def test_a_job_that_was_created_is_an_answer_and_one_that_was_refused_is_none(biz_type: BizType) -> None:
    with pytest.raises(InvalidJob):
        create("order.close", delay=-1)
    connection.health_check_done = False
    health_check.trust(connection)
    assert not connection.health_check_done

    create("order.close")
    connection.health_check_done = False
    health_check.trust(connection)
    assert connection.health_check_done
