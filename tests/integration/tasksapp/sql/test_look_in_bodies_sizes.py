"""How many bytes bodies have: those of the text as it is stored, and exact bytes."""

from __future__ import annotations

import pytest

from tasksapp.models import BizType
from tasksapp.sql.look_in_bodies import body_sizes
from tests.job_rows import store_job

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_they_are_bytes_and_not_letters(biz_type: BizType) -> None:
    text = store_job(biz_type, body='"\u00e9\u00e9"')
    large = store_job(biz_type, body=f'"{"x" * 20_000}"')
    raw = store_job(biz_type, body="null", raw=b"\xff" * 10)
    store_job(biz_type)

    found = body_sizes([text.id, large.id, raw.id], using="default")

    assert found == {text.id: 6, large.id: 20_002, raw.id: 14}
    assert body_sizes([], using="default") == {}
