"""Secrets at rest: sealed with the newest key, opened with any."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from tasksapp.models import BizType
from tasksapp.models.encrypted_text import SecretUnreadable, open_sealed, reseal, seal


def test_a_secret_is_kept_sealed_and_opened_with_any_of_the_keys(settings: Any) -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    settings.DELAYHUB = {"ENCRYPTION_KEYS": [old]}
    biz_type = BizType(auth_secret="user:password")
    assert "password" not in biz_type.auth_secret_sealed

    settings.DELAYHUB = {"ENCRYPTION_KEYS": [new, old]}
    assert biz_type.auth_secret == "user:password"
    biz_type.auth_secret_sealed = reseal(biz_type.auth_secret_sealed)

    settings.DELAYHUB = {"ENCRYPTION_KEYS": [new]}
    assert biz_type.auth_secret == "user:password"

    settings.DELAYHUB = {"ENCRYPTION_KEYS": [old]}
    with pytest.raises(SecretUnreadable, match="bring the old key back"):
        _ = biz_type.auth_secret


def test_the_same_text_is_sealed_differently_each_time() -> None:
    assert seal("user:password") != seal("user:password")


def test_no_secret_is_no_secret() -> None:
    biz_type = BizType(auth_secret="")

    assert (biz_type.auth_secret_sealed, biz_type.auth_secret, reseal("")) == ("", "", "")


def test_a_secret_may_have_any_characters() -> None:
    assert open_sealed(seal("ä:☃ \n'")) == "ä:☃ \n'"


def test_what_was_tampered_with_is_unreadable() -> None:
    sealed = seal("user:password")

    with pytest.raises(SecretUnreadable):
        open_sealed(sealed[:-4] + "AAA=")


def test_without_keys_of_their_own_secrets_follow_the_secret_key(settings: Any) -> None:
    settings.DELAYHUB = {}
    biz_type = BizType(signing_secret="whsec_abc")

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, as long as Django wants a key to be, and not the one before"
    assert biz_type.signing_secret == "whsec_abc"

    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(SecretUnreadable):
        _ = biz_type.signing_secret


def test_a_key_that_is_none_is_an_error(settings: Any) -> None:
    settings.DELAYHUB = {"ENCRYPTION_KEYS": [Fernet.generate_key().decode(), "secret"]}

    with pytest.raises(ImproperlyConfigured, match="no Fernet key"):
        BizType(auth_secret="x")
