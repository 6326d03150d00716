"""Where the callback of a job goes that has a timeout, headers or a URL of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.biz_types.target import NotAsItStands, own_target
from tasksapp.delivery.callback import Target
from tasksapp.delivery.own_request import OwnRequest
from tasksapp.models.encrypted_text import SecretUnreadable, seal

HOSTS = "hooks.partner.example, *.eu.example"
TARGET = Target(
    biz_type="close",
    url="https://shop.example/hook",
    host="shop.example",
    headers=(("X-Team", "orders"),),
    authorization="Bearer of-the-biz-type",
    timeout_seconds=10.0,
)


def target(**own: Any) -> Target:
    return own_target(TARGET, OwnRequest(**own).text(), hosts=HOSTS)


def test_headers_stand_beside_those_of_the_biz_type_and_in_place_of_the_same() -> None:
    own = target(headers={"x-team": "returns", "X-Region": "eu"}, timeout_seconds=2.5)

    assert own.headers == (("x-team", "returns"), ("X-Region", "eu"))
    assert (own.url, own.timeout_seconds, own.authorization) == (TARGET.url, 2.5, "Bearer of-the-biz-type")
    assert not own.is_elsewhere


def test_a_timeout_never_outlives_that_of_the_biz_type_which_the_lease_is_made_for() -> None:
    assert target(timeout_seconds=60.0).timeout_seconds == 10.0


@pytest.mark.parametrize("url", ["https://hooks.partner.example/a", "http://a.eu.example/", "http://b.a.eu.example"])
def test_the_credentials_of_the_biz_type_go_to_no_other_host(url: str) -> None:
    own = target(url=url)

    assert (own.url, own.authorization, own.is_elsewhere, own.refusal) == (url, "", True, "")


def test_nor_to_its_own_host_by_another_scheme() -> None:
    own = own_target(TARGET, OwnRequest(url="http://shop.example/hook").text(), hosts="shop.example")

    assert (own.authorization, own.is_elsewhere) == ("", True)


def test_an_authorization_of_the_job_comes_before_that_of_the_biz_type() -> None:
    sealed = {"Authorization": seal("Bearer mine"), "X-Api-Key": seal("k")}

    own = target(sealed=sealed, origin="https://shop.example")

    assert own.authorization == "Bearer mine"
    assert own.headers == (("X-Team", "orders"), ("X-Api-Key", "k"))


def test_secret_headers_go_only_where_they_were_given_for() -> None:
    with pytest.raises(NotAsItStands, match="Authorization of the job: given for"):
        target(sealed={"Authorization": seal("Bearer mine")}, origin="https://old.example")


def test_a_header_that_cannot_be_opened_is_not_left_out() -> None:
    with pytest.raises(SecretUnreadable):
        target(sealed={"Authorization": "gAAAA-of-another-key"}, origin="https://shop.example")


@pytest.mark.parametrize("url", ["https://evil.example/", "https://hooks.partner.example:8443/", "file:///etc/passwd"])
def test_a_url_that_the_biz_type_does_not_allow_any_more_is_refused(url: str) -> None:
    assert target(url=url).refusal
