"""An operation in the admin, from its plan to its result."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.jobs.job_filter import JobFilter
from tasksapp.models import UNTIL_RESUMED, AuditEntry, BizType, Job, Operation, Status
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.operation_runs import dead_jobs, pending_jobs, planned, started, worked_off
from tests.page_words import words_of

pytestmark = pytest.mark.django_db(transaction=True)

PLAN = reverse("admin:tasksapp_operation_plan")
AT_ONCE = {"do": "start", "pace": "at_once"}


def address(operation: Operation) -> str:
    return reverse("admin:tasksapp_operation_change", args=[operation.pk])


def text_of(browser: Client, operation: Operation) -> str:
    """The page without its tags, with single spaces."""
    return words_of(browser.get(address(operation)).content)


def staff(client: Client, users: Any, *permissions: str) -> Client:
    """The browser of a person with these permissions of the app's."""
    user = users.objects.create_user("op", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="tasksapp", codename__in=permissions))
    client.force_login(user)
    return client


# ---------------------------------------------------------------- plan


def test_a_plan_says_what_is_meant_and_changes_nothing(person: Client, biz_type: BizType) -> None:
    dead_jobs(biz_type, 2)

    page = person.get(f"{PLAN}?verb=redrive&status=dead&biz_type=order.close&biz_id=A-*").content.decode()

    assert "Redrive dead jobs of order.close" in page
    assert "biz id begins with “A-”" in page
    assert not Operation.objects.exists()


def test_a_plan_is_made_by_a_post_and_leads_to_its_page(
    person: Client, biz_type: BizType, django_user_model: Any
) -> None:
    answer = person.post(f"{PLAN}?verb=redrive&biz_type=order.close&error_class=http.503", {"reason": "was down"})

    operation = Operation.objects.get()
    assert answer.headers["Location"] == address(operation)
    assert operation.job_filter == {"biz_type": "order.close", "error_class": "http.503"}
    assert (operation.reason, operation.started_by) == ("was down", "admin")
    assert operation.user_id == str(django_user_model.objects.get().pk)


def test_the_page_of_a_plan_asks_again_until_its_jobs_are_counted(person: Client, biz_type: BizType) -> None:
    person.post(f"{PLAN}?verb=redrive&biz_type=order.close")

    page = person.get(address(Operation.objects.get()))

    assert page.headers["Refresh"] == "2"
    assert "Refresh" not in person.get(address(planned(biz_type="order.close"))).headers


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "names no verb"),
        ("verb=delete", "names no verb"),
        ("verb=edit", "names no verb"),
        ("verb=redrive&tab=dead", "there is no filter"),
        ("verb=redrive&biz_type=%00", "cannot be a biz_type"),
        ("verb=redrive&biz_type=unknown", "There is no biz type unknown"),
        ("verb=redrive&ids=1", "not a job id"),
        ("verb=redrive&due_from=9999-99-99", "is not a time"),
        ("verb=redrive&operation=99999999999999999999", "is not a number"),
    ],
)
def test_an_address_that_means_nothing_is_answered_with_a_sentence(person: Client, query: str, sentence: str) -> None:
    answer = person.get(f"{PLAN}?{query}")

    assert answer.status_code == 400
    assert sentence in answer.content.decode()
    assert "breadcrumbs" in answer.content.decode()


def test_a_status_that_the_verb_is_not_for_is_refused_on_the_form(person: Client) -> None:
    page = person.post(f"{PLAN}?verb=redrive&status=pending").content.decode()

    assert "redrive is for jobs that are dead" in page
    assert not Operation.objects.exists()


def test_a_new_time_is_asked_for_and_must_be_possible(person: Client, biz_type: BizType, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    url = f"{PLAN}?verb=reschedule&biz_type=order.close"

    assert "In Europe/Berlin" in person.get(url).content.decode()
    assert person.post(url, {"due_at": "2300-01-01T00:00:00"}).context["form"].errors
    assert person.post(url, {"due_at": ""}).context["form"].errors
    person.post(url, {"due_at": "2030-07-01T12:00:00"})

    assert str(Operation.objects.get().due_at) == "2030-07-01 10:00:00+00:00"


def test_a_plan_says_what_holds_its_jobs(admin_client: Client, make_biz_type: MakeBizType) -> None:
    make_biz_type("held", paused_until=UNTIL_RESUMED)

    page = admin_client.get(f"{PLAN}?verb=redrive&biz_type=held").content.decode()

    assert "held is paused until somebody resumes it" in page
    assert "no worker" in page


# ---------------------------------------------------------------- start


def test_a_counted_plan_shows_how_many_how_old_and_when_it_would_finish(person: Client, biz_type: BizType) -> None:
    dead_jobs(biz_type, 30, due_in=-timedelta(hours=2))

    text = text_of(person, planned(biz_type="order.close"))

    assert "30 jobs match" in text
    assert "The first died at" in text
    assert "0.5 a second: will finish at" in text
    assert "Redrive 30 jobs" in text


def test_start_takes_pace_trial_and_reason(person: Client, biz_type: BizType) -> None:
    dead_jobs(biz_type, 30)
    operation = planned(biz_type="order.close")
    given = {"pace": "rate", "rate": "5", "with_trial": "on", "trial_jobs": "3", "trial_percent": "80"}

    answer = person.post(address(operation), {"do": "start", **given, "reason": "was down"})

    operation.refresh_from_db()
    assert answer.headers["Location"] == address(operation)
    assert (operation.state, operation.rate_per_second, operation.reason) == ("running", 5.0, "was down")
    assert (operation.trial_jobs, operation.trial_percent, operation.started_by) == (3, 80, "admin")


def test_cancelling_many_takes_the_number_typed(person: Client, biz_type: BizType) -> None:
    pending_jobs(biz_type, 1_001)
    operation = planned("cancel", biz_type="order.close")

    page = person.post(address(operation), AT_ONCE).content.decode()
    operation.refresh_from_db()

    assert "type 1,001 to go on" in page
    assert operation.state == "planned"
    person.post(address(operation), {**AT_ONCE, "typed_count": "1,001"})
    assert worked_off(operation).done == 1_001


def test_a_form_that_was_filled_wrongly_keeps_what_was_typed(person: Client, biz_type: BizType) -> None:
    dead_jobs(biz_type, 1)
    given = {"pace": "spread", "minutes": "0", "reason": "was down"}

    page = person.post(address(planned(biz_type="order.close")), {"do": "start", **given})

    assert page.context["start_form"].errors
    assert 'value="was down"' in page.content.decode()


def test_a_plan_without_jobs_can_only_be_discarded(person: Client, biz_type: BizType) -> None:
    operation = planned(biz_type="order.close")

    assert "There is nothing to do" in text_of(person, operation)
    person.post(address(operation), {"do": "stop"})
    operation.refresh_from_db()
    assert operation.state == "stopped"
    assert "It was never started" in text_of(person, operation)


# ---------------------------------------------------------------- run and result


def test_a_running_operation_shows_its_numbers_and_can_be_paced_and_stopped(person: Client, biz_type: BizType) -> None:
    dead_jobs(biz_type, 5)
    operation = started(biz_type="order.close", rate_per_second=1)
    Operation.objects.filter(pk=operation.pk).update(done=2, succeeded=1, failed=3)

    text = text_of(person, operation)
    person.post(address(operation), {"do": "pace", "pace-pace": "rate", "pace-rate": "7.5"})
    operation.refresh_from_db()
    rate = operation.rate_per_second
    person.post(address(operation), {"do": "stop", "stop-reason": "wrong biz type"})
    operation.refresh_from_db()

    assert "2 of 5" in text
    assert "Failed attempts 3" in text
    assert "Not ended yet 1" in text
    assert rate == 7.5
    assert (operation.state, operation.left) == ("stopped", 3)
    assert "wrong biz type" in text_of(person, operation)
    assert AuditEntry.objects.filter(verb="operation.stop", actor="admin", reason="wrong biz type").exists()


def test_the_part_that_refreshes_itself_asks_for_the_whole_page_once_the_operation_has_ended(
    person: Client, biz_type: BizType
) -> None:
    dead_jobs(biz_type, 1)
    operation = started(biz_type="order.close")

    running = person.get(f"{address(operation)}?fragment=1")
    worked_off(operation)
    ended = person.get(f"{address(operation)}?fragment=1")

    assert "<html" not in running.content.decode()
    assert "HX-Refresh" not in running.headers
    assert ended.headers["HX-Refresh"] == "true"


def test_the_result_says_what_was_done_and_leads_to_the_jobs(person: Client, biz_type: BizType) -> None:
    dead_jobs(biz_type, 3)
    operation = planned(biz_type="order.close")
    Job.objects.filter(pk=Job.objects.first().pk).update(status=Status.DROPPED)  # type: ignore[union-attr]  # one is there
    person.post(address(operation), AT_ONCE)
    worked_off(operation)
    Operation.objects.filter(pk=operation.pk).update(dead=1)

    page = person.get(address(operation)).content.decode()

    assert "2 jobs were changed; 1 had changed meanwhile" in page
    assert f"{reverse('admin:tasksapp_job_changelist')}?operation={operation.pk}&amp;status=dead" in page


def test_a_stopped_operation_leads_to_a_plan_of_what_it_left(person: Client, biz_type: BizType) -> None:
    first, *others = dead_jobs(biz_type, 3)
    operation = started(biz_type="order.close")
    # One was redriven before the stop, and has died again.
    Job.objects.filter(pk=first.pk).update(finished_at=timezone.now() + timedelta(seconds=1))
    Operation.objects.filter(pk=operation.pk).update(done=1, biz_type_ids=[biz_type.pk])  # a key planned it
    person.post(address(operation), {"do": "stop"})

    page = person.get(address(operation)).content.decode()
    [link] = [html.unescape(found) for found in re.findall(r'href="([^"]*operation/plan/[^"]*)"', page)]
    person.post(link, {"reason": "the rest"})

    rest = Operation.objects.exclude(pk=operation.pk).get()
    assert "Go on with the rest" in page
    assert (rest.verb, rest.reason, rest.biz_type_ids) == (operation.verb, "the rest", [biz_type.pk])
    found = JobFilter.parse(rest.job_filter).apply(Job.objects.all())
    assert {job.pk for job in found} == {job.pk for job in others}


@pytest.mark.parametrize("deed", ["start", "pace"])
def test_who_comes_late_is_told_and_changes_nothing(person: Client, biz_type: BizType, deed: str) -> None:
    dead_jobs(biz_type, 1)
    operation = worked_off(started(biz_type="order.close"))
    given = {**AT_ONCE, "do": deed, "pace-pace": "at_once"}

    answer = person.post(address(operation), given, follow=True)

    assert "meanwhile the operation has another state" in answer.content.decode()
    assert Operation.objects.get().state == "done"


@pytest.mark.parametrize(
    "given",
    [
        {"do": "start", "pace": "rate", "rate": "x"},
        {"do": "pace", "pace-pace": "rate", "pace-rate": "x"},
        {"do": "stop", "stop-reason": "x" * 501},
    ],
)
def test_who_comes_late_with_a_wrong_form_is_told_as_well(
    person: Client, biz_type: BizType, given: dict[str, str]
) -> None:
    dead_jobs(biz_type, 1)
    operation = worked_off(started(biz_type="order.close"))

    answer = person.post(address(operation), given, follow=True)

    assert answer.redirect_chain
    assert "meanwhile the operation has another state" in answer.content.decode()


@pytest.mark.parametrize("given", [{}, {"do": "delete"}, {"do": "\0"}])
def test_a_deed_that_there_is_not_changes_nothing(person: Client, biz_type: BizType, given: dict[str, str]) -> None:
    operation = planned(biz_type="order.close")

    assert person.post(address(operation), given).status_code == 302
    assert Operation.objects.get().state == "planned"


@pytest.mark.parametrize("number", ["1", "0", "-1", "x", str(2**70)])
def test_an_operation_that_there_is_not_leads_to_the_history(person: Client, number: str) -> None:
    answer = person.get(f"{reverse('admin:tasksapp_operation_changelist')}{number}/change/", follow=True)

    assert answer.redirect_chain
    assert "There is no operation" in answer.content.decode()


# ---------------------------------------------------------------- rights


@pytest.mark.parametrize("verb", [name for name in Operation.VerbName.values if name != "backfill"])  # see its series
def test_each_verb_takes_its_own_permission(
    client: Client, django_user_model: Any, biz_type: BizType, verb: str
) -> None:
    others = [f"{name}_job" for name in Operation.VerbName.values if name != verb]
    browser = staff(client, django_user_model, "view_operation", *others)
    operation = planned(verb, biz_type="order.close", **_time_for(verb))

    asked = browser.get(f"{PLAN}?verb={verb}")
    posted = browser.post(f"{PLAN}?verb={verb}", {"due_at": "2030-01-01T00:00"})
    started = browser.post(address(operation), AT_ONCE)
    stopped = browser.post(address(operation), {"do": "stop"})

    assert [answer.status_code for answer in (asked, posted, started, stopped)] == [403] * 4
    assert "needs a permission that it does not have" in asked.content.decode()
    assert [row.state for row in Operation.objects.all()] == ["planned"]


def _time_for(verb: str) -> dict[str, Any]:
    return {"due_at": timezone.now() + timedelta(days=1)} if verb == "reschedule" else {}


def test_who_may_only_look_sees_no_buttons(client: Client, django_user_model: Any, biz_type: BizType) -> None:
    dead_jobs(biz_type, 3)
    browser = staff(client, django_user_model, "view_operation")

    plan = browser.get(address(planned(biz_type="order.close"))).content.decode()
    run = browser.get(address(started(biz_type="order.close"))).content.decode()

    assert "may look at this, but not start it" in plan
    assert 'name="do"' not in plan + run


def test_who_may_nothing_is_refused(client: Client, django_user_model: Any, biz_type: BizType) -> None:
    operation = planned(biz_type="order.close")
    browser = staff(client, django_user_model, "view_biztype")

    assert browser.get(address(operation)).status_code == 403
    assert browser.get(reverse("admin:tasksapp_operation_changelist")).status_code == 403


# ---------------------------------------------------------------- cost


@pytest.mark.parametrize("state", ["planning", "planned", "running", "done"])
def test_a_page_asks_the_database_little(
    admin_client: Client, biz_type: BizType, state: str, django_assert_max_num_queries: Any
) -> None:
    dead_jobs(biz_type, 3)
    operation = planned(biz_type="order.close")
    Operation.objects.filter(pk=operation.pk).update(state=state, started_at=timezone.now())

    with django_assert_max_num_queries(7) as queries:  # two of them for session and user
        admin_client.get(address(operation))

    # On PostgreSQL the mark in the frame asks whether somebody keeps the table locked.
    asked = [query["sql"] for query in queries.captured_queries if "pg_locks" not in query["sql"]]
    assert not [sql for sql in asked if "delayhub_job" in sql]
