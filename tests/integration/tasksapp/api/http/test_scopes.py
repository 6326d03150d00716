"""Each action takes the scope that its view set names; the refusal says which one is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rest_framework.exceptions import PermissionDenied

from tasksapp.access.callers import Caller
from tasksapp.api.http.problems import Refused
from tasksapp.api.http.scopes import ANY_SCOPE, check_scope
from tasksapp.api.jobs.views import JobViews
from tasksapp.models import ApiKey, BizType, Job
from tasksapp.models.api_key import Scope

SCOPES = {"list": Scope.JOBS_READ, "create": Scope.JOBS_WRITE, "schema": ANY_SCOPE}


def test_a_caller_with_the_scope_passes_and_one_without_learns_its_name() -> None:
    reader = Caller("shop", 1, scopes=frozenset({"jobs:read"}))

    check_scope(reader, "list", scopes=SCOPES)
    check_scope(reader, "schema", scopes=SCOPES)
    with pytest.raises(Refused) as refusal:
        check_scope(reader, "create", scopes=SCOPES)

    problem = refusal.value.problem
    assert (problem.status, problem.code, problem.extra) == (403, "scope_missing", {"scope": "jobs:write"})
    assert "jobs:write" in problem.detail


def test_an_action_that_names_no_scope_is_refused_for_all_and_no_action_is_left_to_be_a_405() -> None:
    everything = Caller("shop", 1, scopes=frozenset(Scope.values))

    with pytest.raises(PermissionDenied):
        check_scope(everything, "forgotten", scopes=SCOPES)
    check_scope(everything, None, scopes=SCOPES)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/jobs", "/jobs/bulk"])
def test_creates_ask_for_the_scope_though_they_go_past_rest_framework(
    ask: Any, biz_type: BizType, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(JobViews, "permission_classes", [])  # a project's own do not switch the scopes off
    ApiKey.objects.update(scopes=["jobs:read"])

    answer = ask("POST", path, {"biz_type": "order.close"})

    assert answer.status_code == 403
    assert json.loads(answer.content)["scope"] == "jobs:write"
    assert not Job.objects.exists()
    assert ask("GET", "/jobs").status_code == 200
    assert ask("PUT", "/jobs", {}).status_code == 405
