"""A row of an issue: what a person may press."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone

from tasksapp.admin.overview.issue_rows import issue_rows
from tasksapp.models import BizType
from tasksapp.stats.issues import Issue

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("target", [BizType.Target.HTTP, BizType.Target.CELERY])
def test_only_callbacks_can_be_tested_and_old_issues_have_no_times(
    admin_user: Any, biz_type: BizType, target: BizType.Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasksapp.admin.overview.issue_rows.address", lambda name, *_args, site: f"/{site}/{name}")
    biz_type.target = target
    request = RequestFactory().get("/")
    request.user = admin_user
    issue = Issue(biz_type, "lost", 44_667, None, None, 0, None, None)

    (row,) = issue_rows([issue], request=request, site="admin", breakers={}, now=timezone.now())

    assert (row.dead, row.first, row.last, row.today, row.share, row.sample_url) == ("44,667", "", "", "", "-", "")
    assert row.error == "worker lost"
    assert "error_class=lost" in row.jobs_url
    assert row.redrive_url.endswith("error_class=lost")
    assert row.drop_url.endswith("error_class=lost")
    assert bool(row.test_url) == (target == BizType.Target.HTTP)
