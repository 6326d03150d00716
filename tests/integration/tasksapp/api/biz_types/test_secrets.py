"""Secrets of biz types over REST: made, set, ended, never shown again; and test calls."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.webhooks.signature import new_secret
from tasksapp.biz_types import sample_call
from tasksapp.models import AuditEntry, BizType, Job
from tests.certificates import made
from tests.fixture_types import Ask, MakeBizType
from tests.integration.tasksapp.api.problem_documents import problem
from tests.integration.tasksapp.receiver import Receiver, answering

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/biz-types/order.close"


@pytest.fixture(autouse=True)
def _no_tests_so_far() -> None:
    sample_call.forget_samples()


def test_a_rotation_shows_the_new_secret_once_and_keeps_the_old_one_for_a_while(
    ask_fully: Ask, biz_type: BizType
) -> None:
    first = ask_fully("POST", f"{PATH}/rotate").json()
    second = ask_fully("POST", f"{PATH}/rotate", {"overlap_seconds": 60}).json()

    biz_type.refresh_from_db()
    assert first["previous_secret_until"] is None
    assert (biz_type.signing_secret, biz_type.previous_signing_secret) == (
        second["signing_secret"],
        first["signing_secret"],
    )
    shown = ask_fully("GET", PATH)
    assert shown.json()["previous_secret_until"] == second["previous_secret_until"]
    assert b"whsec" not in shown.content
    ended = ask_fully("POST", f"{PATH}/end-rotation").json()
    assert (ended["signed"], ended["previous_secret_until"]) == (True, None)
    assert ask_fully("POST", f"{PATH}/stop-signing").json()["signed"] is False
    assert "whsec" not in str(list(AuditEntry.objects.values_list("before", "after")))


def test_key_pairs_are_made_listed_and_retired_by_their_public_halves(ask_fully: Ask, biz_type: BizType) -> None:
    path = f"{PATH}/key-pairs"
    first = ask_fully("POST", path).json()["public_keys"]
    second = ask_fully("POST", path, {"overlap_seconds": 60}).json()

    biz_type.refresh_from_db()
    assert second["public_keys"] == [biz_type.public_key, *first]
    assert second["previous_key_until"] is not None
    assert ask_fully("GET", path).json() == second
    assert ask_fully("GET", PATH).json()["signed"] is True
    assert ask_fully("POST", f"{path}/end-rotation").json()["public_keys"] == [biz_type.public_key]
    assert ask_fully("POST", f"{path}/retire").json() == {"public_keys": [], "previous_key_until": None}
    recorded = AuditEntry.objects.values_list("verb", "before", "after")
    assert [verb for verb, _, _ in recorded.order_by("id")] == [
        *["biz_type.new_signing_key"] * 2, *["biz_type.end_signing_key"] * 2,
    ]  # fmt: skip
    assert "whsk_" not in str(list(recorded))


def test_what_is_pulled_has_no_key_pair_and_an_overlap_has_bounds(ask_fully: Ask, biz_type: BizType) -> None:
    too_long = problem(ask_fully("POST", f"{PATH}/key-pairs", {"overlap_seconds": 10**9}), 400)
    BizType.objects.update(target="pull")

    assert too_long["errors"][0]["field"] == "overlap_seconds"
    assert problem(ask_fully("POST", f"{PATH}/key-pairs"), 409)["code"] == "no_callback"


def test_a_caller_may_bring_a_secret_of_its_own(ask_fully: Ask, biz_type: BizType) -> None:
    own = new_secret()

    answer = ask_fully("POST", f"{PATH}/rotate", {"secret": own, "overlap_seconds": 0})

    assert answer.json() == {"signing_secret": None, "previous_secret_until": None}
    biz_type.refresh_from_db()
    assert biz_type.signing_secret == own


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"overlap_seconds": -1}, "overlap_seconds"),
        ({"overlap_seconds": 2_592_001}, "overlap_seconds"),
        ({"overlap_seconds": 1.5}, "overlap_seconds"),
        ({"secret": "whsec_short"}, "secret"),
        ({"secret": ""}, "secret"),
        ({"secret": None}, "secret"),
    ],
)
def test_a_rotation_that_cannot_be_is_refused(
    ask_fully: Ask, biz_type: BizType, fields: dict[str, Any], field: str
) -> None:
    refused = problem(ask_fully("POST", f"{PATH}/rotate", fields), 400)

    assert [error["field"] for error in refused["errors"]] == [field]


def test_credentials_are_set_and_deleted_and_never_shown(ask_fully: Ask, biz_type: BizType) -> None:
    put = ask_fully("PUT", f"{PATH}/credentials", {"auth": "basic", "auth_secret": "shop:hush"})

    biz_type.refresh_from_db()
    assert (biz_type.auth, biz_type.auth_secret) == ("basic", "shop:hush")
    assert put.json()["has_credentials"]
    assert b"hush" not in put.content
    gone = ask_fully("PUT", f"{PATH}/credentials", {"auth": "none"}).json()
    assert (gone["auth"], gone["has_credentials"]) == ("none", False)
    assert "hush" not in str(list(AuditEntry.objects.values_list("before", "after")))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "auth"),
        ({"auth": "digest"}, "auth"),
        ({"auth": "basic"}, "auth_secret"),
        ({"auth": "basic", "auth_secret": "nocolon"}, "auth_secret"),
        ({"auth": "none", "auth_secret": "a:b"}, "auth_secret"),
        ({"auth": "bearer", "auth_secret": 5}, "auth_secret"),
    ],
)
def test_credentials_that_cannot_be_sent_are_refused(
    ask_fully: Ask, biz_type: BizType, fields: dict[str, Any], field: str
) -> None:
    refused = problem(ask_fully("PUT", f"{PATH}/credentials", fields), 400)

    assert [error["field"] for error in refused["errors"]] == [field]


def test_a_test_call_is_sent_as_it_is_written_and_its_answer_is_shown(
    ask_fully: Ask, receiver: Receiver, make_biz_type: MakeBizType
) -> None:
    make_biz_type("order.close", url=receiver.url(), auth="bearer", auth_secret="hush")
    receiver.answer = answering(503)

    answer = ask_fully("POST", f"{PATH}/test", b'{"body": {"n": 1e2}}')

    shown = answer.json()
    assert (shown["verdict"], shown["address"], shown["response"]["status_code"]) == ("tried again", "allowed", 503)
    assert receiver.received[0].body == b'{"n": 1e2}'
    assert shown["request"]["body"] == '{"n": 1e2}'
    assert b"hush" not in answer.content
    assert not Job.objects.exists()
    assert AuditEntry.objects.get().verb == "biz_type.test"


def test_a_key_sends_few_tests_a_minute(ask_fully: Ask, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", url="http://169.254.169.254/")
    for _number in range(sample_call.MOST):
        assert ask_fully("POST", f"{PATH}/test").json()["address"] == "refused"

    refused = ask_fully("POST", f"{PATH}/test")

    assert problem(refused, 429)["type"].endswith("too_many_tests")
    assert 0 < int(refused["Retry-After"]) <= 60


def test_what_cannot_be_tested_says_why(ask_fully: Ask, make_biz_type: MakeBizType) -> None:
    make_biz_type("a.task", url="", target="celery", task_name="shop.close")
    make_biz_type("order.close", signing_secret_sealed="nonsense")

    assert problem(ask_fully("POST", "/biz-types/a.task/test"), 409)["type"].endswith("no_callback")
    assert problem(ask_fully("POST", f"{PATH}/test"), 409)["type"].endswith("secrets_unreadable")


def test_what_access_tokens_are_asked_for_with_is_set_and_its_secret_goes_nowhere_else(
    ask_fully: Ask, biz_type: BizType
) -> None:
    token = {"token_url": "https://login.example/token", "client_id": "us", "token_fields": {"scope": "orders"}}
    put = ask_fully("PUT", f"{PATH}/credentials", {"auth": "oauth2", "auth_secret": "hush", **token})

    assert {name: put.json()[name] for name in token} == token
    assert b"hush" not in put.content
    change = {"If-Match": "*"}
    moved = problem(ask_fully("PATCH", PATH, {"token_url": "https://evil.example/"}, **change), 400)
    assert [error["field"] for error in moved["errors"]] == ["auth_secret"]
    again = {"token_url": "https://login2.example/", "auth_secret": "hush2"}
    assert ask_fully("PATCH", PATH, again, **change).status_code == 200
    assert ask_fully("PATCH", PATH, {"token_fields": {}}, **change).json()["token_fields"] == {}
    biz_type.refresh_from_db()
    assert (biz_type.auth_secret, biz_type.token_url) == ("hush2", "https://login2.example/")
    without = problem(ask_fully("PATCH", PATH, {"client_id": ""}, **change), 400)
    assert [error["field"] for error in without["errors"]] == ["client_id"]
    assert "hush" not in str(list(AuditEntry.objects.values_list("before", "after")))


def test_a_client_certificate_is_set_refused_and_deleted_and_its_key_is_never_shown(
    ask_fully: Ask, biz_type: BizType
) -> None:
    authority = made("authority")
    client, path = made("delayhub", by=authority), f"{PATH}/certificate"
    wrong = problem(ask_fully("PUT", path, {"certificate": client.pem, "private_key": authority.key_pem}), 400)
    put = ask_fully("PUT", path, {"certificate": client.pem, "private_key": client.key_pem})

    assert [error["field"] for error in wrong["errors"]] == ["private_key"]
    assert put.json()["certificate_subject"] == "CN=delayhub"
    assert put.json()["certificate_ends_at"].startswith(f"{client.certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%S}")
    key_text = client.key_pem.splitlines()[1]
    biz_type.refresh_from_db()
    assert key_text in biz_type.client_certificate
    assert key_text not in put.content.decode()
    bundle = {"ca_bundle": authority.pem}
    assert ask_fully("PATCH", PATH, bundle, **{"if-match": "*"}).json()["ca_bundle"] == authority.pem.strip()
    bad = problem(ask_fully("PATCH", PATH, {"ca_bundle": "hush"}, **{"if-match": "*"}), 400)
    assert [error["field"] for error in bad["errors"]] == ["ca_bundle"]
    gone = ask_fully("PUT", path, {}).json()
    assert (gone["certificate_subject"], gone["certificate_ends_at"]) == ("", None)
    assert key_text not in str(list(AuditEntry.objects.values_list("before", "after")))
