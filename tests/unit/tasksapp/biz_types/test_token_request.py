"""What a biz type asks its token server for by the columns of its authorization, and what may be typed for it."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.biz_types.token_request import grant_of, token_complaints
from tasksapp.biz_types.validation import auth_complaint, must_type_credentials
from tasksapp.models import BizType

GOOD = {"auth": "oauth2", "token_url": "https://login.example/token", "client_id": "us"}


def biz_type(**fields: Any) -> BizType:
    return BizType(code="order.close", queue_name="q", **{"url": "https://shop.example/hook", **GOOD, **fields})


def test_a_grant_says_what_is_asked_and_shows_no_secret() -> None:
    asking = biz_type(auth="oauth2_form", auth_secret="hush", token_fields={"scope": "b", "audience": "a"})

    grant = grant_of(asking)

    assert grant is not None
    assert (grant.url, grant.client_id, grant.secret, grant.in_form) == (GOOD["token_url"], "us", "hush", True)
    assert grant.fields == (("audience", "a"), ("scope", "b"))
    assert (grant.receiver, grant.queue) == ("https://shop.example", "q")
    assert "hush" not in repr(grant)
    assert grant_of(biz_type(auth="bearer")) is None


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, None),
        ({"token_fields": {"scope": "orders"}}, None),
        ({"auth": "bearer", "token_url": "", "client_id": ""}, None),
        ({"token_url": ""}, "token_url"),
        ({"token_url": "ftp://login.example/"}, "token_url"),
        ({"token_url": "http://169.254.169.254/token"}, "token_url"),
        ({"token_url": "https://us:pass@login.example/"}, "token_url"),
        ({"client_id": ""}, "client_id"),
        ({"client_id": "a\nb"}, "client_id"),
        ({"token_fields": ["scope"]}, "token_fields"),
        ({"token_fields": {"scope": 1}}, "token_fields"),
        ({"auth": "bearer", "token_url": "", "client_id": "", "token_fields": {"scope": {}}}, "token_fields"),
        ({"token_fields": {"grant_type": "password"}}, "token_fields"),
        ({"token_fields": {"scope": "a" * 3_000}}, "token_fields"),
    ],
)
def test_what_cannot_be_asked_is_refused_when_it_is_typed(fields: dict[str, Any], field: str | None) -> None:
    assert list(token_complaints(biz_type(**fields))) == ([field] if field else [])


def test_the_secret_goes_to_no_other_token_server_and_its_token_to_no_other_receiver() -> None:
    before = biz_type()

    assert must_type_credentials(before, biz_type(token_fields={"scope": "x"}, client_id="we")) is None
    assert must_type_credentials(before, biz_type(token_url="https://login.example/other")) is not None
    assert must_type_credentials(before, biz_type(url="https://evil.example/hook")) is not None
    assert must_type_credentials(before, biz_type(auth="bearer")) is not None


def test_a_client_secret_is_one_line() -> None:
    assert auth_complaint("oauth2", "any / signs ä") is None
    assert auth_complaint("oauth2", "") is not None
    assert auth_complaint("oauth2_form", "a\nb") is not None
