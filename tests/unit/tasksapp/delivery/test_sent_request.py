"""What the record of an attempt keeps of its request: all but its secrets."""

from __future__ import annotations

import pytest
from yarl import URL

from tasksapp.delivery.sent_request import MASK, MAX_LINE_LENGTH, shown_headers, shown_line


@pytest.mark.parametrize(
    "name",
    ["Authorization", "X-Api-Key", "cookie", "X-Auth", "x-session-id", "X-Hub-Signature", "PASSWORD", "my-token"],
)
def test_headers_that_may_hold_secrets_are_masked(name: str) -> None:
    assert shown_headers({name: "s3cret"}) == {name: MASK}


def test_the_scheme_of_an_authorization_is_kept() -> None:
    assert shown_headers({"Authorization": "Bearer s3cret"}) == {"Authorization": f"Bearer {MASK}"}


def test_other_headers_are_kept_up_to_a_length() -> None:
    shown = shown_headers({"X-Team": "blue", "delayhub-biz-type": "order.close", "X-Long": "a" * 9_000})

    assert shown == {"X-Team": "blue", "delayhub-biz-type": "order.close", "X-Long": "a" * 500}


def test_the_line_has_the_address_without_secret_parameters() -> None:
    url = URL("https://shop.example/hook?shop=1&api_key=s3cret&a=b%20c")

    line = shown_line("PUT", url)

    assert line.startswith("PUT https://shop.example/hook?shop=1&api_key=")
    assert "s3cret" not in line


def test_a_line_is_kept_up_to_a_length() -> None:
    assert len(shown_line("POST", URL("https://shop.example/" + "a" * 9_000))) == MAX_LINE_LENGTH
