"""The last request of an issue."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from tasksapp.admin.overview.issue_rows import samples
from tasksapp.models import Attempt
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


def test_what_was_sent_and_what_failed_is_hidden_from_who_may_not_see_bodies(django_user_model: Any) -> None:
    scene = store_scene()
    Attempt.objects.filter(job=scene.dead).update(error="ValueError: card 4111", status_code=None)
    request = RequestFactory().get("/")
    request.user = django_user_model.objects.create_user("vera")

    (sample,) = samples([scene.dead.pk], request=request).values()

    assert (sample.request, "4111" in sample.answer) == ("", False)
    assert "hidden" in sample.answer
