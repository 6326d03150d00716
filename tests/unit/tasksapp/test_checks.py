"""System checks: what is wrong with the settings, said before anything runs."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet

from tasksapp import checks

GOOD_KEY = Fernet.generate_key().decode()


def test_options_that_are_not_a_dict_are_an_error(settings: Any) -> None:
    settings.DELAYHUB = ["LANES"]

    assert [found.id for found in checks.check_options(None)] == ["delayhub.E001"]


def test_every_option_that_cannot_work_is_an_error(settings: Any) -> None:
    settings.DELAYHUB = {"LEASE_SECOND": 5, "FLUSH_SIZE": 0}

    assert [found.id for found in checks.check_options(None)] == ["delayhub.E002"] * 2


def test_good_options_are_not_mentioned(settings: Any) -> None:
    settings.DELAYHUB = {"LEASE_SECONDS": 5}

    assert checks.check_options(None) == []


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"ENCRYPTION_KEYS": [GOOD_KEY]}, []),
        # secrets would be lost with SECRET_KEY
        ({}, ["delayhub.W001"]),
        ({"ENCRYPTION_KEYS": []}, ["delayhub.W001"]),
        ("no dict", ["delayhub.W001"]),
        # each bad key is named
        ({"ENCRYPTION_KEYS": [GOOD_KEY, "secret", None]}, ["delayhub.E003", "delayhub.E003"]),
    ],
)
def test_a_deployment_needs_keys_of_its_own_for_secrets(settings: Any, options: Any, ids: list[str]) -> None:
    settings.DELAYHUB = options

    assert [found.id for found in checks.check_encryption_keys(None)] == ids


def test_a_bad_key_is_named_by_its_place_and_not_shown(settings: Any) -> None:
    settings.DELAYHUB = {"ENCRYPTION_KEYS": [GOOD_KEY, "secret"]}

    (found,) = checks.check_encryption_keys(None)

    assert found.msg == "DELAYHUB['ENCRYPTION_KEYS'][1] is no Fernet key"


def test_sqlite_without_immediate_transactions_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    careless = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {}}
    careful = {**careless, "OPTIONS": {"transaction_mode": "IMMEDIATE"}}
    other = {"ENGINE": "django.db.backends.postgresql"}
    databases = {"default": careful, "careless": careless, "other": other}
    monkeypatch.setattr(checks.settings, "DATABASES", databases, raising=False)

    (found,) = checks.check_databases(None)

    assert found.id == "delayhub.W002"
    assert "'careless'" in found.msg


def test_a_project_that_has_our_handlers_or_no_api_is_not_warned_about_pages_for_errors(settings: Any) -> None:
    assert checks.check_error_pages(None) == []

    settings.ROOT_URLCONF = "tests.integration.tasksapp.api.host_urls"
    (found,) = checks.check_error_pages(None)
    assert found.id == "delayhub.W010"
    assert found.hint is not None
    assert "Write in tests.integration.tasksapp.api.host_urls: handler400 = " in found.hint

    settings.ROOT_URLCONF = None
    assert checks.check_error_pages(None) == []
