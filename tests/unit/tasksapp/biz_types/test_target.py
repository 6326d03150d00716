"""Where the callbacks of a biz type go, with its secrets decrypted: made once for each edit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet

from tasksapp.biz_types import target as module
from tasksapp.biz_types.target import target_of
from tasksapp.models import BizType
from tasksapp.models.encrypted_text import SecretUnreadable

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OLD, NEW = "whsec_b2xkIG9sZA==", "whsec_bmV3IG5ldw=="


@pytest.fixture(autouse=True)
def _no_targets_of_other_tests() -> Iterator[None]:
    module._target.cache_clear()
    yield
    module._target.cache_clear()


def biz_type(*, edited_at: datetime = NOW, **fields: Any) -> BizType:
    made = BizType(id=1, code="order.close", **{"url": "https://receiver.example:8443/hook?a=b", **fields})
    made.updated_at = edited_at
    return made


def test_it_is_what_the_biz_type_says() -> None:
    target = target_of(
        biz_type(
            method="PUT",
            headers={"X-Team": "orders"},
            timeout_seconds=3.0,
            permanent_status_codes=[400, 404],
            guarantee="at_most_once",
        ),
        now=NOW,
    )

    assert (target.biz_type, target.method, target.url) == (
        "order.close",
        "PUT",
        "https://receiver.example:8443/hook?a=b",
    )
    assert (target.headers, target.timeout_seconds) == ((("X-Team", "orders"),), 3.0)
    assert (target.permanent_codes, target.at_most_once) == (frozenset({400, 404}), True)


def test_a_host_is_a_name_with_its_port() -> None:
    assert target_of(biz_type(), now=NOW).host == "receiver.example:8443"


@pytest.mark.parametrize(
    ("auth", "secret", "header"),
    [
        ("none", "user:password", ""),
        ("basic", "user:pässword", "Basic dXNlcjpww6Rzc3dvcmQ="),
        ("bearer", "token", "Bearer token"),
    ],
)
def test_its_credentials_become_a_header(auth: str, secret: str, header: str) -> None:
    assert target_of(biz_type(auth=auth, auth_secret=secret), now=NOW).authorization == header


def test_callbacks_are_signed_with_the_secret_if_there_is_one() -> None:
    assert target_of(biz_type(signing_secret=NEW), now=NOW).secrets == (NEW,)
    assert target_of(biz_type(edited_at=NOW + timedelta(1)), now=NOW).secrets == ()


def test_while_secrets_rotate_the_previous_one_signs_too() -> None:
    rotating = biz_type(signing_secret=NEW, previous_signing_secret=OLD, previous_secret_until=NOW)

    assert target_of(rotating, now=NOW - timedelta(seconds=1)).secrets == (NEW, OLD)
    assert target_of(rotating, now=NOW).secrets == (NEW,)


def test_it_is_made_once_for_each_edit() -> None:
    known = biz_type()
    first = target_of(known, now=NOW)

    assert target_of(known, now=NOW) is first
    # Read again after an edit; QuerySet.update and SQL leave its time as it was.
    assert target_of(biz_type(url="https://elsewhere.example/"), now=NOW).url == "https://elsewhere.example/"


def test_a_secret_that_cannot_be_decrypted_is_an_error_each_time(settings: Any) -> None:
    settings.DELAYHUB = {"ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}
    sealed = biz_type(signing_secret=NEW)
    settings.DELAYHUB = {"ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}

    for _ in range(2):
        with pytest.raises(SecretUnreadable):
            target_of(sealed, now=NOW)
