"""Series whose times are at the ends of the calendar: each page about them can be seen, in every time zone."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tasksapp import series as api
from tasksapp.models import BizType, Job

pytestmark = pytest.mark.django_db

SCHEDULES: list[dict[str, Any]] = [
    {"every": 316_224_000, "starts_at": "9990-01-01T00:00:00Z", "anchor": "0001-01-02T00:00:00Z"},
    {"times": ["0001-01-02T00:00:00Z", "9998-12-01T00:00:00Z"], "jitter": 31_622_400},
]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=["every", "times"])
def test_a_series_at_an_end_of_the_calendar_can_be_seen(
    person: Client, settings: Any, zone: str, schedule: dict[str, Any]
) -> None:
    settings.TIME_ZONE = zone
    BizType.objects.create(code="report.daily", url="https://shop.example/hooks")
    made = api.create("report.daily", name="far", **schedule)

    pages = ["series/", f"series/{made.pk}/change/", f"series/{made.pk}/edit/", "job/?tab=all", "job/"]
    pages += [f"job/{job.pk}/change/" for job in Job.objects.all()]
    for page in pages:
        answer = person.get(f"/admin/tasksapp/{page}", follow=True)
        assert answer.status_code == 200, page
