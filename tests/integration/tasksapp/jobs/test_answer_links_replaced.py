"""A link ends where its job asks something else by now: who has it would answer what they were not asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from tasksapp import jobs, series
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.errors import LinkNotFound, LinkOver
from tasksapp.jobs.answer_links import answer_by_link, look_at_link
from tasksapp.models import AnswerLink, BizType, Job
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.stored_jobs import due

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


@pytest.fixture
def ask(make_biz_type: MakeBizType, settings: Any) -> BizType:
    """A biz type whose jobs wait for an answer, on a site that knows its address."""
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": "https://delayhub.example"}
    make_biz_type("after.answer")
    return make_biz_type("ask", on_resolved="after.answer")


def asked(**fields: Any) -> UUID:
    return due("ask", **{"biz_id": "42", "delay": HOUR, **fields})


def token(job_id: UUID) -> str:
    made = jobs.make_link(job_id, outcomes=["approved", "rejected"], given_to="eve@shop.example")
    return made.url.partition("#")[2]


@pytest.mark.parametrize(("choice", "fields"), [("replace", {}), ("last", {}), ("any", {"debounce_key": "42"})])
def test_a_link_ends_where_another_create_takes_the_place_of_its_job(
    ask: BizType, choice: str, fields: dict[str, Any]
) -> None:
    BizType.objects.filter(pk=ask.pk).update(one_live=choice)
    biz_type_cache.clear()
    job_id, other = asked(body={"amount": 31}, **fields), asked(biz_id="43")
    made, kept = token(job_id), token(other)

    assert asked(body={"amount": 310}, **fields) == job_id

    with pytest.raises(LinkNotFound):
        answer_by_link(made, "approved")
    answer_by_link(token(job_id), "approved")
    assert look_at_link(kept)
    assert Job.objects.filter(biz_type__code="after.answer").count() == 1


@pytest.mark.parametrize(
    ("change", "ends"),
    [
        ({"body": {"amount": 310}}, True),
        ({"biz_id": "44"}, True),
        ({"raw": b"amount=310", "content_type": "text/plain"}, True),
        ({"body": {"amount": 31}, "delay": 2 * HOUR}, False),
        ({"max_attempts": 9}, False),
    ],
)
def test_a_link_ends_where_somebody_changes_what_its_job_asks(
    ask: BizType, change: dict[str, Any], *, ends: bool
) -> None:
    made = token(job_id := asked(body={"amount": 31}))

    jobs.edit(job_id, **change)

    assert AnswerLink.objects.exists() is not ends
    if not ends:
        answer_by_link(made, "approved")


def test_a_used_link_stays_where_its_job_is_made_another(ask: BizType) -> None:
    made = token(job_id := asked())
    AnswerLink.objects.update(used_at=timezone.now())

    jobs.edit(job_id, body={"amount": 310})

    with pytest.raises(LinkOver) as refused:
        answer_by_link(made, "approved")
    assert refused.value.why == "used"


@pytest.mark.parametrize(
    ("change", "ends"), [({"body": {"amount": 310}}, True), ({"biz_id": "44"}, True), ({"priority": 1}, False)]
)
def test_a_link_ends_where_a_change_of_its_series_asks_something_else(
    ask: BizType, change: dict[str, Any], *, ends: bool
) -> None:
    row = series.create("ask", name="each day", every=24 * HOUR, biz_id="42", body={"amount": 31})
    token(Job.objects.get(series=row).id)

    series.change(row.pk, **change)

    assert AnswerLink.objects.exists() is not ends
