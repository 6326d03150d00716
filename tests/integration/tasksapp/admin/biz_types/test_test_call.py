"""The page that sends a test callback: what it sends, what it shows, and to whom it is shut."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from tasksapp.admin.biz_types import test_call as biz_type_test_call
from tasksapp.admin.biz_types.test_call import TaskWorkers
from tasksapp.biz_types import sample_call
from tasksapp.biz_types.sample_call import MOST
from tasksapp.models import AuditEntry, BizType, Job
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.receiver import Receiver, answering

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_tests_so_far() -> None:
    sample_call.forget_samples()


@pytest.fixture
def tester(client: Client, django_user_model: Any, settings: Any) -> Client:
    """The browser of a person who may view biz types and send tests, and no more."""
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0", "ALLOWED_NETWORKS": ["127.0.0.0/8"]}
    person = django_user_model.objects.create_user("tina", password="x", is_staff=True)
    person.user_permissions.add(*Permission.objects.filter(codename__in=["view_biztype", "test_biztype"]))
    client.force_login(person)
    return client


def page(biz_type: BizType) -> str:
    return reverse("admin:tasksapp_biztype_test", args=[biz_type.pk])


def test_a_test_is_sent_and_its_answer_shown(tester: Client, receiver: Receiver, make_biz_type: MakeBizType) -> None:
    receiver.answer = answering(200, X_Trace="<b>abc</b>")
    biz_type = make_biz_type("order.close", url=receiver.url(), enabled=False)
    assert "order.close" in tester.get(page(biz_type)).context["form"]["body"].value()

    answer = tester.post(page(biz_type), {"body": '{"order":  42}'})

    (got,) = receiver.received
    assert (got.body, got.headers["delayhub-test"]) == (b'{"order":  42}', "1")
    text = answer.content.decode()
    for shown in ("A job with this answer is done", "the answer", "&lt;b&gt;abc", f"POST {receiver.url()}", "passed:"):
        assert shown in text
    assert not Job.objects.exists()
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.what) == ("tina", "biz_type.test", "order.close")
    assert entry.after["status_code"] == 200


def test_credentials_and_extra_headers_are_hidden_from_a_person_who_may_not_change_the_biz_type(
    tester: Client, receiver: Receiver
) -> None:
    biz_type = BizType(code="order.close", url=receiver.url(), headers={"X-Shop": "header-value"}, auth="bearer")
    biz_type.auth_secret, biz_type.signing_secret = "shop-token", "whsec_" + "c2VjcmV0" * 4
    biz_type.save()

    text = tester.post(page(biz_type), {"body": "{}"}).content.decode()

    assert "X-Shop" in text
    for secret in ("header-value", "shop-token", "c2VjcmV0", receiver.received[0].headers["webhook-signature"]):
        assert secret not in text


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_failure_is_shown_with_its_meaning(
    tester: Client, receiver: Receiver, make_biz_type: MakeBizType, status: int
) -> None:
    receiver.answer = answering(status)

    text = tester.post(page(make_biz_type("a", url=receiver.url())), {"body": "{}"}).content.decode()

    assert "is tried again" in text
    assert f"status {status}" in text


def test_an_address_that_is_refused_is_said_to_be(tester: Client, make_biz_type: MakeBizType) -> None:
    text = tester.post(page(make_biz_type("a", url="http://169.254.169.254/")), {"body": "{}"}).content.decode()

    assert "refused: the host has no public address" in text
    assert "Request, which was not sent" in text


@pytest.mark.parametrize("body", ["", "{", "NaN", '{"a": "\\u0000"}', "x" * 20, '"' + "a" * 70_000 + '"', "[" * 99_999])
def test_what_is_no_body_of_a_job_is_not_sent(
    tester: Client, receiver: Receiver, make_biz_type: MakeBizType, body: str
) -> None:
    answer = tester.post(page(make_biz_type("a", url=receiver.url())), {"body": body})

    assert answer.context["form"].errors["body"]
    assert not receiver.received


def test_a_person_sends_a_few_tests_a_minute(tester: Client, receiver: Receiver, make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("a", url=receiver.url())
    for _number in range(MOST):
        tester.post(page(biz_type), {"body": "{}"})

    answer = tester.post(page(biz_type), {"body": "{}"})

    assert len(receiver.received) == MOST
    assert f"That were {MOST} tests within a minute" in answer.content.decode()


def test_a_secret_that_cannot_be_decrypted_is_said(tester: Client, make_biz_type: MakeBizType, settings: Any) -> None:
    biz_type = make_biz_type("a", url="http://127.0.0.1:1/", signing_secret_sealed="nonsense")

    assert "cannot be decrypted" in tester.post(page(biz_type), {"body": "{}"}).content.decode()


def test_a_look_at_the_page_sends_nothing(tester: Client, receiver: Receiver, make_biz_type: MakeBizType) -> None:
    tester.get(page(make_biz_type("a", url=receiver.url())), {"body": "{}"})

    assert not receiver.received


def test_who_may_not_send_tests_has_no_button_and_no_page(
    client: Client, django_user_model: Any, receiver: Receiver, make_biz_type: MakeBizType
) -> None:
    editor = django_user_model.objects.create_user("editor", password="x", is_staff=True)
    editor.user_permissions.add(*Permission.objects.filter(codename__in=["view_biztype", "change_biztype"]))
    client.force_login(editor)
    biz_type = make_biz_type("a", url=receiver.url())

    answers = [client.get(page(biz_type)), client.post(page(biz_type), {"body": "{}"})]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert not receiver.received
    change = client.get(reverse("admin:tasksapp_biztype_change", args=[biz_type.pk])).content.decode()
    assert page(biz_type) not in change


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (TaskWorkers(False, [], [], "celery", []), "The broker does not answer"),
        (TaskWorkers(True, [], [], "celery", []), "No worker answered"),
        (TaskWorkers(True, ["w1"], [], "celery", []), "none of them"),
        (TaskWorkers(True, ["w1"], ["w1"], "celery", ["w1"]), "Know the task"),
    ],
)
def test_of_a_task_the_workers_are_asked(
    tester: Client, make_biz_type: MakeBizType, monkeypatch: pytest.MonkeyPatch, found: TaskWorkers, said: str
) -> None:
    monkeypatch.setattr(biz_type_test_call, "ask_workers", lambda _biz_type: found)
    biz_type = make_biz_type("a", url="", target="celery", task_name="shop.close")

    text = tester.get(page(biz_type)).content.decode()
    assert "There is no test run" in text
    assert "<textarea" not in text

    assert said in tester.post(page(biz_type)).content.decode()
