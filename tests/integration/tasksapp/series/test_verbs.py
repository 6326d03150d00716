"""Verbs of series: what each does to the row, to the jobs and to the audit.

They take the fields of ``tasksapp.series.fields``, find rows by ``lookup``, make jobs by ``insert_occurrences``, and
delete or rewrite those of ``unclaimed_occurrences``. ``outlook`` shows what comes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from delayhub.engine import TimerLane
from tasksapp import series as api
from tasksapp.access.actors import Actor
from tasksapp.delivery.own_request import read_own_request
from tasksapp.errors import InvalidJob, InvalidSeries, NameTaken, SeriesNotFound, StaleSeries, UnknownBizType
from tasksapp.jobs.creation import create
from tasksapp.jobs.exact_bytes import content_type_of
from tasksapp.models import AuditEntry, BizType, Job, Series, Status
from tasksapp.models.encrypted_text import open_sealed
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
ADA = Actor("ada")


@pytest.fixture
def begin() -> datetime:
    """A full minute, at every time of the day the next one of an hourly series, and too far away for its job."""
    return timezone.now().replace(second=0, microsecond=0) + timedelta(minutes=50)


@pytest.fixture
def hourly(biz_type: BizType, begin: datetime) -> Series:
    """A series with one occurrence to come."""
    return api.create("order.close", name="hourly", every=HOUR, anchor=begin, body={"a": 1}, by=ADA)


def deeds() -> list[str]:
    return list(AuditEntry.objects.order_by("id").values_list("verb", flat=True))


@pytest.mark.parametrize(
    ("field", "code", "given"),
    [
        ("name", "required", {"cron": "* * * * *"}),
        ("name", "blank", {"name": "", "cron": "* * * * *"}),
        ("cron", "one_of", {"name": "a"}),
        ("cron", "invalid", {"name": "a", "cron": "1--100000000 * * * *"}),
        ("overlap", "invalid", {"name": "a", "cron": "* * * * *", "overlap": "both"}),
        ("count", "invalid", {"name": "a", "cron": "* * * * *", "count": 0}),
        ("priority", "invalid", {"name": "a", "cron": "* * * * *", "priority": 10}),
        ("body", "invalid", {"name": "a", "cron": "* * * * *", "body": float("nan")}),
        # the next could be due before the one before
        ("jitter", "too_long", {"name": "a", "cron": "* * * * *", "jitter": 60}),
        ("times", "no_time_zone", {"name": "a", "times": ["2027-01-01T00:00:00"]}),
        ("payload", "unknown", {"name": "a", "cron": "* * * * *", "payload": 1}),
    ],
)
def test_what_a_series_cannot_be_is_refused_by_field(
    biz_type: BizType, field: str, code: str, given: dict[str, Any]
) -> None:
    with pytest.raises(InvalidJob) as refusal:
        api.create("order.close", **given)

    assert (refusal.value.field, refusal.value.code) == (field, code)
    assert not Series.objects.exists()


def test_a_biz_id_is_refused_where_its_biz_type_keeps_one_live_job_of_each(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.single", one_live="refuse")
    row = api.create("order.single", name="b", cron="0 0 * * *")

    for call in (
        lambda: api.create("order.single", name="a", cron="0 0 * * *", biz_id="42"),
        lambda: api.change(row.pk, biz_id="42"),
    ):
        with pytest.raises(InvalidSeries, match="keeps one live job of each biz id") as refusal:
            call()
        assert (refusal.value.field, refusal.value.code) == ("biz_id", "one_live")
    assert Series.objects.get().biz_id == ""
    assert api.change(row.pk, priority=1, biz_id="").priority == 1


def test_a_series_that_had_a_biz_id_before_that_choice_may_be_changed(biz_type: BizType) -> None:
    row = api.create("order.close", name="a", cron="0 0 * * *", biz_id="42")
    BizType.objects.update(one_live="refuse")

    assert api.change(row.pk, cron="0 1 * * *", biz_id="42").cron == "0 1 * * *"


def test_a_priority_is_refused_where_the_jobs_of_a_flow_key_run_in_their_order(make_biz_type: MakeBizType) -> None:
    make_biz_type("ship", ordered=BizType.Ordered.BLOCKS)
    of_key = api.create("ship", name="a", cron="0 0 * * *", flow_key="anna")
    free = api.create("ship", name="b", cron="0 0 * * *", priority=1)

    for call in (
        lambda: api.create("ship", name="c", cron="0 0 * * *", flow_key="anna", priority=1),
        lambda: api.change(of_key.pk, priority=1),
        lambda: api.change(free.pk, flow_key="anna"),
    ):
        with pytest.raises(InvalidJob, match="run in their order") as refusal:
            call()
        assert (refusal.value.field, refusal.value.code) == ("priority", "conflict")
    assert api.change(free.pk, flow_key="anna", priority=None).flow_key == "anna"


def test_a_series_that_had_a_priority_before_its_biz_type_was_ordered_may_be_changed(biz_type: BizType) -> None:
    row = api.create("order.close", name="a", cron="0 0 * * *", flow_key="anna", priority=1)
    BizType.objects.update(ordered=BizType.Ordered.BLOCKS)

    assert api.change(row.pk, cron="0 1 * * *").cron == "0 1 * * *"


@pytest.mark.parametrize("deed", [api.pause, api.delete])
def test_a_deleted_occurrence_lets_the_next_job_of_its_flow_key_go(
    make_biz_type: MakeBizType, lane: TimerLane, deed: Callable[[int], object]
) -> None:
    make_biz_type("ship", ordered=BizType.Ordered.BLOCKS)
    soon = timezone.now() + timedelta(seconds=50)
    row = api.create("ship", name="soon", times=[soon], flow_key="anna")
    behind = create("ship", flow_key="anna", due_at=soon + timedelta(seconds=1)).job_id
    assert lane.look("ship", [str(behind)], key="anna") == [None]

    deed(row.pk)

    assert lane.look("ship", [str(behind)], key="anna") != [None]


def test_a_name_is_given_once_in_a_biz_type(hourly: Series, make_biz_type: MakeBizType) -> None:
    make_biz_type("other")

    with pytest.raises(NameTaken):
        api.create("order.close", name="hourly", cron="0 0 * * *")
    with pytest.raises(UnknownBizType):
        api.create("nobody", name="hourly", cron="0 0 * * *")
    api.create("other", name="hourly", cron="0 0 * * *")

    assert api.find_by_name("other", "hourly").biz_type.code == "other"


def test_other_content_rewrites_what_no_worker_has_taken(hourly: Series, begin: datetime, lane: TimerLane) -> None:
    taken = Job.objects.get()
    Job.objects.filter(id=taken.id).update(status=Status.PENDING, attempts=1)
    Series.objects.update(make_at=begin)
    api.change(hourly.pk, starts_at=begin + HOUR)

    api.change(hourly.pk, body={"a": 2}, priority=0, flow_key="tenant 1", by=ADA, reason="more")

    bodies = dict(Job.objects.values_list("occurrence_at", "body"))
    assert bodies == {begin: '{"a":1}', begin + HOUR: '{"a":2}'}
    rewritten = Job.objects.get(occurrence_at=begin + HOUR)
    assert (rewritten.priority, rewritten.flow_key) == (0, "tenant 1")
    entry = AuditEntry.objects.get(verb="series.edit")
    assert (entry.actor, entry.what, entry.reason) == ("ada", "order.close hourly", "more")


def test_timers_of_a_series_stand_under_its_flow_key(biz_type: BizType, lane: TimerLane) -> None:
    soon = timezone.now() + timedelta(seconds=50)
    row = api.create("order.close", name="soon", times=[soon], flow_key="one")
    job_id = str(Job.objects.get().pk)
    assert lane.look("order.close", [job_id], key="one") != [None]

    api.change(row.pk, flow_key="two")

    assert lane.look("order.close", [job_id], key="two") != [None]
    assert lane.look("order.close", [job_id], key="one") == [None]
    api.pause(row.pk)
    assert lane.count("order.close") == 0


def test_a_change_names_the_version_that_its_caller_saw(hourly: Series) -> None:
    api.change(hourly.pk, body=1, version=1)

    with pytest.raises(StaleSeries) as refusal:
        api.change(hourly.pk, body=2, version=1)

    assert refusal.value.version == 2
    assert api.change(hourly.pk, body=1).version == 2  # nothing changed


def test_a_paused_series_has_nothing_to_come_and_goes_on_after_now(hourly: Series, begin: datetime) -> None:
    held = api.pause(hourly.pk, reason="holidays", by=ADA)

    assert (held.paused_by, held.pause_reason, held.next_occurrence_at) == ("ada", "holidays", None)
    assert not Job.objects.exists()
    api.change(hourly.pk, anchor=begin + timedelta(minutes=5))
    assert not Job.objects.exists()

    api.resume(hourly.pk, by=ADA)

    assert Job.objects.get().occurrence_at == begin + timedelta(minutes=5) - (
        HOUR if begin + timedelta(minutes=5) - HOUR > timezone.now() else timedelta(0)
    )
    assert deeds() == ["series.add", "series.pause", "series.resume"]


def test_a_trigger_makes_a_job_at_once_that_is_no_occurrence(hourly: Series, lane: TimerLane) -> None:
    api.pause(hourly.pk)

    job_id = api.trigger(hourly.pk, by=ADA)

    job = Job.objects.get(id=job_id)
    assert (job.series_id, job.occurrence_at, job.body, job.created_by) == (hourly.pk, None, '{"a":1}', "ada")
    assert lane.count("order.close") == 1
    assert AuditEntry.objects.get(verb="series.trigger").job_id == job_id
    BizType.objects.update(enabled=False)
    with pytest.raises(InvalidSeries):
        api.trigger(hourly.pk)


def test_a_deleted_series_leaves_what_workers_have_taken(hourly: Series, lane: TimerLane) -> None:
    done = api.trigger(hourly.pk)
    Job.objects.filter(id=done).update(status=Status.SUCCEEDED)

    api.delete(hourly.pk, by=ADA)

    assert list(Job.objects.values_list("id", flat=True)) == [done]
    assert deeds() == ["series.add", "series.delete"]
    with pytest.raises(SeriesNotFound):
        api.find(hourly.pk)


def test_a_cancelled_occurrence_is_not_made_again(hourly: Series, begin: datetime) -> None:
    from tasksapp import jobs

    jobs.cancel(Job.objects.get().id)

    api.change(hourly.pk, ends_at=begin + 2 * HOUR)

    assert dict(Job.objects.values_list("occurrence_at", "status")) == {begin: "cancelled", begin + HOUR: "pending"}


def test_edits_of_a_frequent_series_make_each_occurrence_again(biz_type: BizType) -> None:
    series = api.create("order.close", name="secondly", cron="* * * * * *")
    before = Job.objects.count()

    for jitter in (0.2, 0.5, 0.1):
        api.change(series.pk, jitter=jitter)

    moments = list(Job.objects.order_by("occurrence_at").values_list("occurrence_at", flat=True))
    assert abs(len(moments) - before) <= 5
    assert {later - earlier for earlier, later in pairwise(moments)} == {timedelta(seconds=1)}
    series.refresh_from_db()
    assert series.made == len(moments)


def test_its_jobs_have_its_own_request_and_a_change_keeps_the_secrets(biz_type: BizType) -> None:
    own = {"timeout_seconds": 3, "headers": {"X-Region": "eu", "Authorization": "Bearer mine"}}
    made = api.create("order.close", name="own", every=HOUR, request=own, by=ADA)
    job = Job.objects.get()
    Job.objects.update(body="null", raw=b"what a person put there")

    masked = {"timeout_seconds": 2, "headers": {"X-Region": "us", "Authorization": "(hidden)"}}
    changed = api.change(made.pk, request=masked, by=ADA)

    before, after = read_own_request(job.request), read_own_request(changed.request)
    assert (before.timeout_seconds, after.timeout_seconds, after.headers) == (3.0, 2.0, {"X-Region": "us"})
    assert after.sealed == before.sealed
    assert open_sealed(after.sealed["Authorization"]) == "Bearer mine"
    job.refresh_from_db()
    assert (job.request, job.raw) == (changed.request, None)
    assert Job.objects.get(id=api.trigger(made.pk)).request == changed.request
    assert "Bearer" not in str(list(AuditEntry.objects.values_list("before", "after")))
    for request in ({"timeout_seconds": 99}, {"url": "https://other.example/"}, {"headers": {"Host": "a"}}, 1):
        with pytest.raises(InvalidJob) as refused:
            api.change(made.pk, request=request)
        assert refused.value.field == "request"
    assert api.change(made.pk, request=None).request == ""


def test_a_series_with_exact_bytes_makes_jobs_with_them_and_an_edit_rewrites_those(hourly: Series) -> None:
    own = {"headers": {"X-Region": "eu"}}
    api.change(hourly.pk, raw=b"<a/>", content_type="application/xml", request=own, by=ADA)
    job = Job.objects.get()
    assert (bytes(job.raw or b""), job.body, content_type_of(job.request)) == (b"<a/>", "null", "application/xml")
    entry = AuditEntry.objects.latest("id")
    assert (entry.before["body"]["text"], entry.after["raw"]["text"]) == ('{"a":1}', "<a/>")

    triggered = Job.objects.get(pk=api.trigger(hourly.pk))
    assert (bytes(triggered.raw or b""), triggered.request) == (b"<a/>", job.request)

    kept = api.change(hourly.pk, request={"headers": {"X-Region": "us"}})
    assert content_type_of(kept.request) == "application/xml"
    typed = api.change(hourly.pk, content_type="text/xml")
    assert (bytes(typed.raw or b""), content_type_of(typed.request)) == (b"<a/>", "text/xml")
    assert api.change(hourly.pk, raw=b"<a/>", content_type="text/xml").version == typed.version

    plain = api.change(hourly.pk, body=[1])
    job.refresh_from_db()
    assert (plain.raw, content_type_of(plain.request), job.raw, job.body) == (None, "", None, "[1]")
    assert read_own_request(plain.request).headers == {"X-Region": "us"}


def test_a_series_is_created_with_bytes_that_are_no_text(biz_type: BizType) -> None:
    row = api.create("order.close", name="image", cron="0 9 * * *", raw=b"\0\xff")

    job = Job.objects.get()
    assert (bytes(job.raw or b""), job.series_id) == (b"\0\xff", row.pk)
    assert content_type_of(job.request) == "application/octet-stream"


@pytest.mark.parametrize(
    ("field", "code", "given"),
    [
        ("body", "conflict", {"raw": b"a", "body": 1}),
        ("content_type", "no_bytes", {"content_type": "text/plain"}),
        ("content_type", "invalid", {"raw": b"a", "content_type": "text"}),
        ("raw", "invalid", {"raw": "a"}),
        ("body", "target", {"raw": b"a", "biz_type": "order.task"}),
    ],
)
def test_exact_bytes_that_a_series_cannot_have_are_refused(
    biz_type: BizType, field: str, code: str, given: dict[str, Any]
) -> None:
    BizType.objects.create(code="order.task", target=BizType.Target.CELERY, task_name="shop.close")

    with pytest.raises(InvalidJob) as refusal:
        api.create(given.pop("biz_type", "order.close"), name="a", cron="* * * * *", **given)

    assert (refusal.value.field, refusal.value.code) == (field, code)
    assert not Series.objects.exists()
