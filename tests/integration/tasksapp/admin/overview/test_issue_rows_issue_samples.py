"""The last request of an issue."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from tasksapp.admin.overview.issue_rows import samples
from tests.admin_scene import store_scene

pytestmark = pytest.mark.django_db


def test_the_last_attempt_of_each_job_is_read_by_one_query(admin_user: Any, django_assert_num_queries: Any) -> None:
    scene = store_scene()
    request = RequestFactory().get("/")
    request.user = admin_user

    with django_assert_num_queries(1):
        found = samples([scene.dead.pk, scene.waiting.pk], request=request)

    assert set(found) == {str(scene.dead.pk)}
    sample = found[str(scene.dead.pk)]
    assert sample.request == "POST https://shop.example/hooks/close"
    assert "the receiver answered 503" in sample.answer
    assert "after 84 ms" in sample.answer
    assert "upstream connect error" in sample.body
