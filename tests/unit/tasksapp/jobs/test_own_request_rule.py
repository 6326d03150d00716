"""What a job may bring of its own request, and what an edit keeps of it."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.delivery.own_request import read_own_request
from tasksapp.errors import InvalidJob
from tasksapp.jobs.own_request_rule import asked_request, fitted
from tasksapp.jobs.requests import RULES
from tasksapp.models import BizType
from tasksapp.models.encrypted_text import open_sealed

RULE: Any = RULES["request"]


def biz_type(**fields: Any) -> BizType:
    return BizType(**{"code": "close", "url": "https://shop.example/", "timeout_seconds": 10.0, **fields})


@pytest.mark.parametrize("nothing", [None, {}, {"headers": {}, "url": None, "timeout_seconds": None}])
def test_nothing_of_its_own_is_stored_as_nothing(nothing: Any) -> None:
    assert RULE(nothing) == ""


def test_headers_that_hold_secrets_are_encrypted() -> None:
    text = RULE({"headers": {"Authorization": "Bearer s3cret", "X-Session": "s3cret", "X-Team": "a"}})

    own = read_own_request(text)
    assert "s3cret" not in text
    assert own.headers == {"X-Team": "a"}
    assert {name: open_sealed(value) for name, value in own.sealed.items()} == {
        "Authorization": "Bearer s3cret",
        "X-Session": "s3cret",
    }


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([], "invalid"),
        ({"timeout": 3}, "unknown"),
        ({"timeout_seconds": 0}, "invalid"),
        ({"timeout_seconds": True}, "invalid"),
        ({"timeout_seconds": float("nan")}, "invalid"),
        ({"timeout_seconds": "3"}, "invalid"),
        ({"url": "ftp://a.example"}, "url"),
        ({"url": "https://user:secret@a.example"}, "url"),
        # the address guard, as far as it can say without DNS
        ({"url": "http://169.254.169.254/latest"}, "url"),
        ({"url": "http://localhost:8000"}, "url"),
        ({"url": "http://[::ffff:10.0.0.1]/"}, "url"),
        ({"url": "https://a.example/" + "a" * 2_000}, "invalid"),
        ({"url": 7}, "invalid"),
        ({"url": ""}, "url"),
        ({"headers": [["X-A", "b"]]}, "headers"),
        ({"headers": {"X-A": 1}}, "headers"),
        ({"headers": {"X-A": "a\r\nX-B: b"}}, "headers"),
        ({"headers": {"X A": "b"}}, "headers"),
        ({"headers": {"": "b"}}, "headers"),
        ({"headers": {"X-A": "ü"}}, "headers"),
        ({"headers": {"X-A": "a", "x-a": "b"}}, "headers"),
        ({"headers": {"X-A": "a" * 4_100}}, "headers"),
        ({"headers": {f"X-{number}": "a" for number in range(31)}}, "headers"),
        # the connection's, the delivery's and the signature's
        *(
            ({"headers": {name: "a"}}, "headers")
            for name in (
                "Host", "content-length", "Content-Type", "Transfer-Encoding", "Connection", "TE", "Upgrade", "Trailer",
                "Keep-Alive", "Expect", "User-Agent", "Accept-Encoding", "Proxy-Authorization", "webhook-id",
                "Webhook-Signature", "webhook-whatever", "DelayHub-Attempt", "delayhub-x", "traceparent",
            )
        ),
        # what pages show in place of a secret is none
        ({"headers": {"Authorization": "Bearer (hidden)"}}, "headers"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(given: Any, code: str) -> None:
    with pytest.raises(InvalidJob) as refused:
        RULE(given)

    assert (refused.value.field, refused.value.code) == ("request", code)


@pytest.mark.parametrize(
    ("given", "code", "fields"),
    [
        ({"timeout_seconds": 10.5}, "timeout", {}),
        ({"url": "https://a.example"}, "host", {}),
        ({"url": "https://shop.example/other"}, "host", {}),
        ({"url": "https://a.example"}, "host", {"url_hosts": "b.example"}),
        ({"timeout_seconds": 1}, "target", {"target": "pull"}),
        ({"timeout_seconds": 1}, "target", {"target": "celery"}),
    ],
)
def test_what_the_biz_type_does_not_allow_is_refused(given: Any, code: str, fields: Any) -> None:
    with pytest.raises(InvalidJob) as refused:
        fitted(RULE, RULE(given), biz_type(**fields))

    assert (refused.value.field, refused.value.code) == ("request", code)


@pytest.mark.parametrize(
    ("url", "origin"), [({}, "https://shop.example"), ({"url": "https://a.example:8443/x"}, "https://a.example:8443")]
)
def test_secret_headers_are_bound_to_the_host_they_were_given_for(url: Any, origin: str) -> None:
    text = fitted(RULE, RULE({"headers": {"Cookie": "a=b"}, **url}), biz_type(url_hosts="a.example:8443"))

    assert read_own_request(text).origin == origin


def test_an_edit_keeps_what_comes_back_as_it_was_shown() -> None:
    given = {"headers": {"Authorization": "Bearer s3cret", "X-Team": "a"}, "url": "https://a.example/?token=s3cret"}
    stored = fitted(RULE, RULE(given), biz_type(url_hosts="a.example"))
    shown = read_own_request(stored).shown()

    shown["headers"]["X-Team"] = "b"
    edited = read_own_request(RULE.edited(shown, stored=stored))

    assert (open_sealed(edited.sealed["Authorization"]), edited.url) == ("Bearer s3cret", given["url"])
    assert (edited.headers, edited.origin) == ({"X-Team": "b"}, "https://a.example")


@pytest.mark.parametrize("url", [None, "https://b.example/", "http://a.example/"])
def test_an_edit_sends_no_hidden_header_to_another_host(url: str | None) -> None:
    given = {"headers": {"Authorization": "Bearer s3cret"}, "url": "https://a.example/"}
    stored = fitted(RULE, RULE(given), biz_type(url_hosts="a.example"))

    with pytest.raises(InvalidJob) as refused:
        RULE.edited({"headers": {"Authorization": "(hidden)"}, "url": url}, stored=stored)

    assert refused.value.code == "hidden"


def test_the_same_request_is_known_again_whatever_its_form() -> None:
    first = asked_request({"timeout_seconds": 3, "headers": {"X-A": "b"}})

    assert first == asked_request({"timeout_seconds": 3.0, "headers": {"x-a": "b"}, "url": None})
