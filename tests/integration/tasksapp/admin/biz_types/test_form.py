"""The form of a biz type by itself: credentials, the schedule, and other tabs' faults."""

from __future__ import annotations

import pytest
from django.forms import modelform_factory

from tasksapp.admin.biz_types.form import BizTypeForm
from tasksapp.models import BizType

TARGET = ["target", "url", "method", "headers", "timeout_seconds", "task_name", "task_queue"]
DATA = {"target": "http", "url": "https://shop.example/", "method": "POST", "headers": "{}", "timeout_seconds": "10"}


def form_class(fields: list[str], *, secrets: bool = True, preview: bool = False) -> type[BizTypeForm]:
    made: type[BizTypeForm] = modelform_factory(BizType, form=BizTypeForm, fields=fields)
    made.may_change_secrets, made.is_preview = secrets, preview
    return made


@pytest.fixture
def authorized(db: None) -> BizType:
    made = BizType(code="a", url="https://shop.example/", auth=BizType.Auth.BEARER)
    made.auth_secret = "shop-token"
    made.save()
    return made


def test_credentials_for_another_host_are_asked_for_where_some_are_stored(authorized: BizType) -> None:
    assert "auth_secret" in form_class(TARGET)(instance=authorized).fields
    assert "auth_secret" not in form_class(TARGET, secrets=False)(instance=authorized).fields
    assert "auth_secret" not in form_class(["name"])(instance=authorized).fields
    assert "auth_secret" not in form_class(TARGET)(instance=BizType(code="b")).fields


def test_another_host_takes_other_credentials(authorized: BizType) -> None:
    elsewhere = {**DATA, "url": "https://other.example/"}

    refused = form_class(TARGET)(elsewhere, instance=authorized)
    assert "another host" in refused.errors["auth_secret"][0]
    authorized.refresh_from_db()
    taken = form_class(TARGET)({**elsewhere, "auth_secret": "their-token"}, instance=authorized)

    assert taken.is_valid()
    assert taken.save().auth_secret == "their-token"


def test_another_host_is_not_shown_the_certificate(authorized: BizType) -> None:
    authorized.client_certificate = "a key and a certificate"
    authorized.save()

    form = form_class(TARGET)(
        {**DATA, "url": "https://other.example/", "auth_secret": "their-token"}, instance=authorized
    )

    assert "delete it first" in form.errors["url"][0]


def test_a_task_in_place_of_the_callbacks_keeps_no_credentials_for_the_next_address(authorized: BizType) -> None:
    form = form_class(TARGET)({**DATA, "target": "celery", "url": "", "task_name": "a.b"}, instance=authorized)

    assert "auth_secret" in form.errors


def test_a_task_that_the_project_does_not_allow_is_named_at_its_field(authorized: BizType) -> None:
    data = {**DATA, "target": "celery", "url": "", "task_name": "celery.map", "task_queue": "delayhub.timers"}

    form = form_class(TARGET)({**data, "auth_secret": "shop-token"}, instance=authorized)

    assert "No job may run a task of Celery's" in form.errors["task_name"][0]
    assert "No task may be sent to a queue of Celery's" in form.errors["task_queue"][0]


def test_a_preview_is_never_stored_and_has_the_schedule_of_what_was_typed() -> None:
    fields = ["max_attempts", "backoff", "backoff_min_seconds", "backoff_max_seconds", "backoff_factor", "jitter"]
    data = {"max_attempts": "3", "backoff": "fixed", "backoff_min_seconds": "5", "backoff_max_seconds": "9"}
    rest = {"backoff_factor": "2", "jitter": "0"}

    form = form_class(fields, preview=True)({**data, **rest}, instance=BizType(code="a"))

    assert not form.is_valid()
    assert not form.errors
    schedule = form.schedule()
    assert schedule is not None
    assert [attempt.wait_least for attempt in schedule.attempts] == [0, 5, 5]

    wrong = form_class(fields, preview=True)({**data, **rest, "jitter": "7"}, instance=BizType(code="a"))
    assert wrong.schedule() is None


def test_the_schedule_of_an_unopened_form_is_that_of_the_row() -> None:
    schedule = form_class(["max_attempts"])(instance=BizType(code="a", max_attempts=4)).schedule()

    assert schedule is not None
    assert schedule.last.number == 4
