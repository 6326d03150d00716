"""A search in bodies: batch by batch, with an end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tasksapp.models import BizType, Job
from tasksapp.sql import look_in_bodies as module
from tasksapp.sql.look_in_bodies import BodyLook, look_in_bodies
from tests.job_rows import store_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def jobs(biz_type: BizType, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Ten jobs, two of the same moment each; batches of 2, 3 and 4."""
    monkeypatch.setattr(module, "BATCHES", (2, 3, 4))
    return [store_job(biz_type, due_in=timedelta(minutes=n // 2), body=f'{{"n":"{n:02}"}}') for n in range(10)]


def look(text: str, *, order: str = "next_run_at", limit: int = 5, seconds: float = 30.0) -> BodyLook:
    return look_in_bodies(Job.objects.all(), text, order=order, limit=limit, seconds=seconds, using="default")


def test_it_finds_what_is_in_a_later_batch(jobs: list[Job]) -> None:
    assert look('"07"') == ([jobs[7].id], 9, False, 0)


def test_it_ends_after_its_batches_and_says_how_many_it_looked_at(jobs: list[Job]) -> None:
    assert look('"09"') == ([], 9, False, 0)


def test_it_stops_where_it_has_enough(jobs: list[Job]) -> None:
    assert look('"n"', limit=2) == ([jobs[0].id, jobs[1].id], 2, False, 0)


def test_it_looks_from_the_end_of_the_order(jobs: list[Job]) -> None:
    found = look('"0', order="-next_run_at", limit=9)

    expected = Job.objects.order_by("-next_run_at", "-id").values_list("id", flat=True)[:9]
    assert found.ids == list(expected)


def test_it_says_when_it_looked_at_all(jobs: list[Job]) -> None:
    Job.objects.filter(id__in=[job.id for job in jobs[4:]]).delete()

    assert look('"03"') == ([jobs[3].id], 4, True, 0)


def test_it_ends_when_its_time_is_over(jobs: list[Job]) -> None:
    assert look('"07"', seconds=0) == ([], 0, False, 0)


def test_it_passes_over_what_is_encrypted_and_counts_it(jobs: list[Job]) -> None:
    Job.objects.filter(id__in=[jobs[0].id, jobs[7].id, jobs[9].id]).update(request="@")

    assert look('"07"') == ([], 9, False, 2)
    assert look('"03"') == ([jobs[3].id], 9, False, 2)
