"""What was done lately, in lines."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone

from tasksapp.admin.overview.overview import open_operations, recent_lines
from tasksapp.models import AuditEntry, BizType, Operation

pytestmark = pytest.mark.django_db


@pytest.fixture
def ask(admin_user: Any) -> Any:
    request = RequestFactory().get("/")
    request.user = admin_user
    return request


def test_a_line_says_who_did_what_why_and_leads_there(ask: Any, biz_type: BizType) -> None:
    now = timezone.now()
    AuditEntry.objects.create(
        at=now, actor="ada", verb="biz_type.pause", biz_type_id=biz_type.pk, what="order.close", reason="db move"
    )

    (line,) = recent_lines(ask, site="admin", now=now)

    assert (line["text"], line["reason"], line["away"]) == ("ada: pause, order.close", "db move", "now")
    assert line["url"] == f"/admin/tasksapp/biztype/{biz_type.pk}/change/"


def test_an_entry_without_a_name_is_called_by_its_number(ask: Any) -> None:
    AuditEntry.objects.create(at=timezone.now(), actor="ada", verb="operation.stop", operation_id=17)
    AuditEntry.objects.create(at=timezone.now(), actor="api:shop", verb="something.new")

    newest, oldest = recent_lines(ask, site="admin", now=timezone.now())

    assert newest["text"] == "api:shop: something.new"
    assert oldest["text"] == "ada: stop operation, operation 17"


def test_operations_that_are_not_done_are_shown_with_how_far_they_are(ask: Any, biz_type: BizType) -> None:
    shared: dict[str, Any] = {"verb": "redrive", "job_filter": {}, "started_by": "ada"}
    Operation.objects.create(**shared, state="running", biz_type=biz_type, planned=44_667, done=12_300)
    Operation.objects.create(**shared, state="done")

    (operation,) = open_operations(ask, site="admin")

    assert operation["text"] == "redrive, order.close, by ada: running"
    assert operation["progress"] == "12,300 of 44,667"


def test_people_without_the_permission_see_neither(ask: Any, django_user_model: Any) -> None:
    AuditEntry.objects.create(at=timezone.now(), actor="ada", verb="cancel")
    ask.user = django_user_model.objects.create_user("vera")

    assert recent_lines(ask, site="admin", now=timezone.now()) == []
    assert open_operations(ask, site="admin") == []
