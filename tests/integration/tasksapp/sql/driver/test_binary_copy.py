"""COPY's binary layout fits the table, column by column."""

from __future__ import annotations

import pytest
from django.db import connection

from tasksapp.models import Job
from tasksapp.sql.driver.binary_copy import form_of
from tasksapp.sql.insert_jobs import CONSTANT, COPY, GIVEN

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only]

_TYPES = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'delayhub_job'"
#: Types that are the same on the wire.
SAME = {"character varying": "text"}


def test_each_column_is_packed_as_the_type_it_has_in_the_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'delayhub_job'"
        )
        types = dict(cursor.fetchall())

    for name in COPY.columns:
        assert form_of(Job._meta.get_field(name)).type == SAME.get(types[name], types[name]), name


def test_every_column_that_does_not_begin_with_null_is_copied_once() -> None:
    assert sorted(COPY.columns) == sorted((*GIVEN, *CONSTANT))
    assert {field.attname for field in Job._meta.concrete_fields if not field.null} <= set(COPY.columns)
