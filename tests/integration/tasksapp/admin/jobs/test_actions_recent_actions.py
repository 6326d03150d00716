"""What a person did to one job is among their recent actions; what they did to several is in the audit."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import RequestFactory

from tasksapp.admin.jobs.actions import note_single
from tasksapp.models import BizType
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("count", "changed", "logged"), [(1, 1, 1), (1, 0, 0), (2, 2, 0)])
def test_only_what_was_done_to_one_job_is_logged(biz_type: BizType, count: int, changed: int, logged: int) -> None:
    request: Any = RequestFactory().post("/")
    request.user = User.objects.create_user("ada")
    ids = [store_job(biz_type).id for _ in range(count)]

    note_single(request, ids, changed=changed, verb="cancel")

    assert LogEntry.objects.filter(user=request.user, change_message="cancel").count() == logged
