"""Live jobs that begin only once someone acts are named by manage.py check and on the page of issues."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from django.test import Client

from tasksapp.biz_types import stranded as module
from tasksapp.biz_types.stranded import stranded
from tasksapp.models import Status
from tasksapp.models.api_key import MOVING
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"enabled": False}, "The biz type is disabled: enable it, or cancel them."),
        ({"moved_to": MOVING}, "A move of the tenant has not ended: run move_tenant again, or with --back."),
        (
            {"enabled": False, "moved_to": "https://c3.example"},
            "The tenant has moved to another site: cancel them here, or move it back.",
        ),
    ],
)
def test_live_jobs_of_a_closed_biz_type_are_named(
    make_biz_type: MakeBizType, admin_client: Client, fields: dict[str, object], said: str
) -> None:
    closed = make_biz_type("order.close", **fields)
    store_job(closed)
    store_job(closed, Status.RUNNING)
    store_job(closed, Status.DEAD)
    store_job(make_biz_type("order.open"))
    store_job(make_biz_type("order.over", enabled=False), Status.SUCCEEDED)

    found = [one for one in run_checks(databases=["default"]) if one.id == "delayhub.W037"]
    page = admin_client.get("/admin/tasksapp/deadcount/").content.decode()

    assert [one.msg for one in found] == [f"order.close: 2 live jobs. {said}"]
    assert "order.close: 2 live jobs" in page
    assert said in page
    assert "order.over" not in page


def test_of_very_many_it_says_that_there_are_more(make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_COUNTED", 2)
    closed = make_biz_type("order.close", enabled=False)
    for _ in range(3):
        store_job(closed)

    assert str(stranded()[0]).startswith("order.close: 2+ live jobs.")


def test_where_all_begin_the_page_has_no_such_list(make_biz_type: MakeBizType, admin_client: Client) -> None:
    store_job(make_biz_type("order.open"))

    assert not [one for one in run_checks(databases=["default"]) if one.id == "delayhub.W037"]
    assert "live job" not in admin_client.get("/admin/tasksapp/deadcount/").content.decode()
