"""People who are logged in use the API by their permissions, with a CSRF token; a key that is sent counts instead."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tasksapp.access.permissions import SCOPES
from tasksapp.models import AuditEntry, BizType, Job
from tasksapp.models.api_key import Scope

pytestmark = pytest.mark.django_db(transaction=True)

JOB = {"biz_type": "order.close", "delay": 60}
TOKEN = "t" * 32


@pytest.fixture
def ada() -> User:
    """A person who may create, read and cancel jobs."""
    person = User.objects.create_user("ada")
    names = [name.split(".")[1] for scope in (Scope.JOBS_READ, Scope.JOBS_WRITE) for name in SCOPES[scope]]
    person.user_permissions.set(Permission.objects.filter(codename__in=names, content_type__app_label="tasksapp"))
    return person


@pytest.fixture
def browser(ada: User) -> Client:
    """A browser in which Ada is logged in."""
    made = Client(enforce_csrf_checks=True)
    made.force_login(ada)
    made.cookies["csrftoken"] = TOKEN
    return made


def post(browser: Client, path: str, body: Any, **headers: str) -> Any:
    return browser.post(f"/api/v1{path}", body, content_type="application/json", headers=headers)


def test_a_person_reads_by_the_session_and_changes_with_the_token(browser: Client, biz_type: BizType) -> None:
    token = {"x-csrftoken": TOKEN}

    created = post(browser, "/jobs", JOB, **token)

    assert created.status_code == 201
    assert Job.objects.get().created_by == "ada"
    assert browser.get("/api/v1/jobs").status_code == 200
    cancelled = post(browser, f"/jobs/{Job.objects.get().pk}/cancel", {}, **token)
    assert cancelled.status_code == 200
    assert AuditEntry.objects.get().actor == "ada"


@pytest.mark.parametrize("path", ["/jobs", "/jobs/bulk", "/operations"])
def test_without_the_token_nothing_is_changed(browser: Client, biz_type: BizType, path: str) -> None:
    for headers in ({}, {"x-csrftoken": "u" * 32}, {"x-csrftoken": TOKEN, "origin": "https://evil.example"}):
        answer = post(browser, path, JOB, **headers)
        assert answer.status_code == 403
        assert json.loads(answer.content)["type"].endswith("csrf_failed")
    assert not Job.objects.exists()


def test_a_person_may_do_what_their_permissions_say(browser: Client, biz_type: BizType) -> None:
    answer = post(browser, "/operations", {}, **{"x-csrftoken": TOKEN})

    assert (answer.status_code, json.loads(answer.content)["scope"]) == (403, "jobs:act")


def test_a_key_that_is_sent_counts_and_not_the_session(browser: Client, key: str, biz_type: BizType) -> None:
    assert post(browser, "/jobs", JOB, authorization=f"Bearer {key}").status_code == 201
    assert Job.objects.get().created_by == "api:caller"
    assert post(browser, "/jobs", JOB, authorization="Bearer dh_wrong", **{"x-csrftoken": TOKEN}).status_code == 401


def test_a_person_who_left_and_a_stranger_are_asked_for_a_key(browser: Client, ada: User) -> None:
    User.objects.update(is_active=False)

    refused = browser.get("/api/v1/jobs")

    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, 'Bearer realm="delayhub"')
    assert Client().get("/api/v1/jobs").status_code == 401
