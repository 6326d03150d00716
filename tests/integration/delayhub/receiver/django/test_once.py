"""Views of Django and REST framework that are run once for each job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, connections, transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import Client
from rest_framework.exceptions import ValidationError

from delayhub.receiver.django import once, prune, verified
from tasksapp.models import Tenant
from tests.integration.delayhub.receiver.django.hooks import VERIFIER, WORK
from tests.signed_callbacks import fresh_id, signed

pytestmark = [
    pytest.mark.urls("tests.integration.delayhub.receiver.django.hooks"),
    pytest.mark.django_db(transaction=True),
]

Response = HttpResponse | StreamingHttpResponse


@pytest.fixture(autouse=True)
def work_again() -> Iterator[None]:
    """Leaves no work to the next test."""
    before = WORK.do
    yield
    WORK.do = before


@pytest.fixture(params=[False, True], ids=["", "ATOMIC_REQUESTS"])
def atomic_requests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of projects."""
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", request.param)


def effects() -> int:
    return Tenant.objects.filter(code__startswith="effect").count()


def one_effect(request: HttpRequest | None = None) -> Response:
    Tenant.objects.create(code=f"effect-{fresh_id()}", name="an effect")
    return HttpResponse(status=204)


def effect_and(answer: Callable[[], Response]) -> Callable[[HttpRequest], Response]:
    """A work with one effect, and then this answer."""

    def work(request: HttpRequest) -> Response:
        one_effect()
        return answer()

    return work


def post(id_: str, where: str = "function") -> Any:
    """The answer to a callback of that id, as a browser that is not ours gets it."""
    body = b'{"order": 42}'
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    return client.post(f"/{where}/", body, content_type="application/json", headers=signed(id_, body=body))


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.parametrize("where", ["function", "class", "rest"])
def test_a_callback_that_comes_twice_has_one_effect(where: str) -> None:
    id_, WORK.do = fresh_id(), one_effect

    assert post(id_, where).status_code == 204
    again = post(id_, where)

    assert (again.status_code, again.headers["DelayHub-Duplicate"]) == (200, "1")
    assert effects() == 1


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.parametrize(
    ("where", "answer"),
    [
        # an answer, not an exception: under ATOMIC_REQUESTS the id was kept, and the effect was lost
        ("function", lambda: HttpResponse(status=500)),
        ("class", lambda: HttpResponse(status=404)),
        ("rest", lambda: HttpResponse(status=503)),
        ("function", lambda: HttpResponse(headers={"DelayHub-Action": "retry"})),
        # what is streamed would be done after the commit
        ("function", lambda: StreamingHttpResponse([b"x"])),
    ],
)
def test_after_an_answer_that_is_no_success_the_next_attempt_does_it(
    where: str, answer: Callable[[], Response]
) -> None:
    id_, WORK.do = fresh_id(), effect_and(answer)

    post(id_, where)

    assert effects() == 0
    WORK.do = one_effect
    assert post(id_, where).status_code == 204
    assert effects() == 1


@pytest.mark.usefixtures("atomic_requests")
@pytest.mark.parametrize(("where", "error", "status"), [("function", KeyError, 500), ("rest", ValidationError, 400)])
def test_after_an_exception_the_next_attempt_does_it(where: str, error: type[Exception], status: int) -> None:
    def fails() -> Response:
        raise error

    id_, WORK.do = fresh_id(), effect_and(fails)

    assert post(id_, where).status_code == status
    WORK.do = one_effect
    assert post(id_, where).status_code == 204
    assert effects() == 1


def test_an_error_that_the_view_caught_never_ends_in_a_success_without_an_effect() -> None:
    def careless() -> Response:
        try:
            with transaction.atomic(savepoint=False):
                Tenant.objects.create(id=1, code="twice")
        except IntegrityError:
            pass
        return HttpResponse()

    def more_careless() -> Response:
        with suppress(DatabaseError):
            connection.cursor().execute("SELECT n FROM no_such_table")
        return HttpResponse()

    for answer in (careless, more_careless):
        before, id_, WORK.do = effects(), fresh_id(), effect_and(answer)

        if post(id_).status_code == 500:
            assert effects() == before
            WORK.do = one_effect
            assert post(id_).status_code == 204
        assert effects() == before + 1


def test_a_callback_that_is_under_way_is_answered_with_409_and_then_as_repeated() -> None:
    id_, begun, end = fresh_id(), threading.Event(), threading.Event()

    def slow(request: HttpRequest) -> Response:
        begun.set()
        assert end.wait(20)
        return one_effect()

    def in_a_thread() -> Any:
        try:
            return post(id_)
        finally:
            connections.close_all()

    WORK.do = slow
    with ThreadPoolExecutor(1) as other:
        running = other.submit(in_a_thread)
        assert begun.wait(20)
        meanwhile = post(id_)
        end.set()
        assert running.result(20).status_code == 204

    assert (meanwhile.status_code, meanwhile.headers["Retry-After"]) == (409, "1")
    assert post(id_).status_code == 200
    assert effects() == 1


def test_what_the_answer_asked_for_is_repeated_in_case_it_was_lost() -> None:
    id_, WORK.do = fresh_id(), effect_and(lambda: HttpResponse(status=500, headers={"DelayHub-Action": "done"}))

    first, again = post(id_), post(id_)

    assert (first.status_code, again.status_code, again.headers["DelayHub-Action"]) == (500, 200, "done")
    assert effects() == 1


def test_a_view_inside_a_transaction_of_another_is_refused() -> None:
    id_, WORK.do = fresh_id(), one_effect

    with transaction.atomic():
        assert post(id_).status_code == 500

    assert effects() == 0


def test_the_view_waits_for_locks_as_long_as_before() -> None:
    ask = "SHOW lock_timeout" if connection.vendor == "postgresql" else "PRAGMA busy_timeout"
    seen = []

    def look(request: HttpRequest | None = None) -> Response:
        with connection.cursor() as cursor:
            cursor.execute(ask)
            seen.append(cursor.fetchone()[0])
        return HttpResponse()

    look()
    WORK.do = look
    post(fresh_id())

    assert seen[0] == seen[1]


def test_a_request_without_a_right_signature_and_a_test_reach_no_view() -> None:
    WORK.do = one_effect
    client, test = Client(), signed("job-1", delayhub_test="1")

    answers = [
        client.post("/function/", b"{}", content_type="application/json", headers=headers).status_code
        for headers in ({}, test)
    ]

    assert answers == [401, 204]
    assert effects() == 0
    assert post("job-77", "verified").content == b"job-77"
    assert client.post("/verified/").status_code == 401


def test_an_asynchronous_view_is_refused_where_it_is_defined() -> None:
    async def later(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    for decorator in (once(VERIFIER), verified(VERIFIER)):
        with pytest.raises(TypeError, match="plain def"):
            decorator(later)  # type: ignore[arg-type]  # that is what is tried


def test_what_is_old_is_forgotten_and_the_migration_makes_what_the_code_uses() -> None:
    post(fresh_id())
    post(fresh_id())

    assert prune(keep=timedelta(hours=1)) == 0
    with connection.cursor() as cursor:
        cursor.execute("UPDATE delayhub_inbox SET received_at = 1")
    assert prune(keep=timedelta(hours=1)) == 2
    call_command("makemigrations", "delayhub_receiver", check=True, dry_run=True, verbosity=0)
