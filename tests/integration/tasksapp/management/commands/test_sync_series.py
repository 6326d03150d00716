"""``manage.py sync_series``: stores what tasks declare."""

from __future__ import annotations

from io import StringIO

import pytest
from celery import Celery
from django.core.management import CommandError, call_command

from delayhub import delayed_task
from tasksapp.models import Series

pytestmark = pytest.mark.django_db(transaction=True)


@delayed_task(biz_type="tests.report", name="tests.report.make", cron="0 9 * * 1-5", time_zone="Asia/Shanghai")
def make_report() -> None:
    """Nothing."""


def said(*args: str) -> list[str]:
    out = StringIO()
    call_command("sync_series", *args, stdout=out)
    return out.getvalue().splitlines()


def test_the_project_is_asked_for_its_tasks_and_each_difference_is_listed(current_celery: Celery) -> None:
    assert said("--dry-run") == ["tests.report.make: new", "This was a dry run: nothing is stored."]
    assert not Series.objects.exists()
    assert said() == ["tests.report.make: new"]
    assert said() == ["tests.report.make: the same"]

    row = Series.objects.get()
    assert (row.cron, row.time_zone, row.body) == ("0 9 * * 1-5", "Asia/Shanghai", '{"args":[],"kwargs":{}}')


@pytest.mark.parametrize(
    ("declared", "said_of_it"), [({"cron": "61 * * * *"}, "cannot be read"), ({"every": 1e18}, "every may be")]
)
def test_a_declaration_that_cannot_be_is_a_sentence(
    current_celery: Celery, monkeypatch: pytest.MonkeyPatch, declared: dict[str, object], said_of_it: str
) -> None:
    monkeypatch.setattr(current_celery.tasks["tests.report.make"], "job_series", declared)

    with pytest.raises(CommandError, match=said_of_it):
        said()
