"""System checks: what is wrong with the settings, said before anything runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.apps import apps

from tasksapp import checks
from tasksapp.models import Job

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


def test_an_authentication_of_the_api_that_cannot_be_imported_is_an_error(settings: Any) -> None:
    good = "tasksapp.api.http.authentication.ApiKeyAuthentication"
    settings.DELAYHUB = {"API_AUTHENTICATION": [good, "shop.callers.Missing", "nonsense"]}

    found = checks.check_api_authentication(None)

    assert [each.id for each in found] == ["delayhub.E018"] * 2
    assert "No module named 'shop'" in str(found[0].msg)


def test_an_entry_that_allows_every_task_is_warned_about(settings: Any) -> None:
    settings.DELAYHUB = {"ALLOWED_TASKS": ["*", "*/*", "acme/*.*", "shop.*", "acme/shop.tasks.close"]}

    found = checks.check_allowed_tasks(None)

    assert {each.id for each in found} == {"delayhub.W031"}
    assert [str(each.msg).partition(" has ")[2].partition(":")[0] for each in found] == ["'*'", "'*/*'", "'acme/*.*'"]


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"ENCRYPTION_KEYS": [GOOD_KEY]}, []),
        # secrets would be lost with SECRET_KEY
        ({}, ["delayhub.W001"]),
        ({"ENCRYPTION_KEYS": []}, ["delayhub.W001"]),
        ("no dict", ["delayhub.W001"]),
    ],
)
def test_a_deployment_needs_keys_of_its_own_for_secrets(settings: Any, options: Any, ids: list[str]) -> None:
    settings.DELAYHUB = options

    assert [found.id for found in checks.check_deployment(None)] == ids


def test_a_bad_key_is_named_by_its_place_and_not_shown(settings: Any) -> None:
    settings.DELAYHUB = {"ENCRYPTION_KEYS": [GOOD_KEY, "secret", None]}

    found = checks.check_encryption_keys(None)

    assert [error.msg for error in found] == [
        "DELAYHUB['ENCRYPTION_KEYS'][1] is no Fernet key",
        "DELAYHUB['ENCRYPTION_KEYS'][2] is no Fernet key",
    ]
    assert {error.id for error in found} == {"delayhub.E003"}


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode = wal;"}, None),
        ({"transaction_mode": "IMMEDIATE"}, "without journal_mode=WAL in"),
        ({"init_command": "PRAGMA journal_mode=WAL;"}, "without transaction_mode in"),
        ({}, "without transaction_mode and journal_mode=WAL in"),
    ],
)
def test_sqlite_whose_writers_would_fail_is_warned_about(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, str], missing: str | None
) -> None:
    databases = {
        "default": {"ENGINE": "django.db.backends.postgresql"},
        "other": {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": options},
    }
    monkeypatch.setattr(checks.settings, "DATABASES", databases, raising=False)

    found = checks.check_sqlite(None)

    assert [(warning.id, "'other'" in warning.msg, str(missing) in warning.msg) for warning in found] == (
        [("delayhub.W002", True, True)] if missing else []
    )


@pytest.mark.parametrize(
    ("seconds", "options", "warned"),
    [
        (3, {}, False),
        (0, {}, True),
        (0, {"options": "-c statement_timeout=9s"}, True),
        # the way behind a pooler that passes options on
        (0, {"options": "-c lock_timeout=3s"}, False),
    ],
)
def test_requests_that_wait_for_locks_without_end_are_warned_about(
    settings: Any, monkeypatch: pytest.MonkeyPatch, seconds: int, options: dict[str, str], warned: bool
) -> None:
    settings.DELAYHUB = {"WEB_LOCK_SECONDS": seconds}
    databases = {
        "default": {"ENGINE": "django.db.backends.sqlite3"},
        "other": {"ENGINE": "django.db.backends.postgresql", "OPTIONS": options},
    }
    monkeypatch.setattr(checks.settings, "DATABASES", databases, raising=False)

    found = checks.check_lock_waits(None)

    assert [(warning.id, "'other'" in warning.msg) for warning in found] == (
        [("delayhub.W035", True)] if warned else []
    )


def test_times_without_a_zone_are_an_error(settings: Any) -> None:
    assert checks.check_times(None) == []

    settings.USE_TZ = False
    (error,) = checks.check_times(None)

    assert (error.id, "USE_TZ = True" in str(error.hint)) == ("delayhub.E010", True)


@pytest.mark.parametrize("vendor", ["mysql", "oracle"])
def test_a_database_that_no_statement_is_written_for_is_an_error(monkeypatch: pytest.MonkeyPatch, vendor: str) -> None:
    assert checks.check_database(None) == []

    monkeypatch.setattr(checks, "connections", {"default": SimpleNamespace(vendor=vendor)})
    (error,) = checks.check_database(None)

    assert error.id == "delayhub.E011"
    assert f"is {vendor}: DelayHub runs on PostgreSQL and on SQLite" in error.msg


OURS = list(apps.get_app_config("tasksapp").get_models())


@pytest.mark.parametrize(
    ("models", "message"),
    [
        # orders in one database, jobs in another
        (
            {model._meta.model_name for model in apps.get_app_config("tasksapp").get_models()},
            "all other rows to 'default'",
        ),
        # jobs in one database, what belongs to them in another
        ({"job"}, "spread DelayHub's tables over 'default' and 'jobs'"),
    ],
)
def test_jobs_that_are_not_in_their_orders_transaction_are_an_error(
    settings: Any, monkeypatch: pytest.MonkeyPatch, models: set[str], message: str
) -> None:
    orders = SimpleNamespace(name="orders", get_models=lambda: [SimpleNamespace(_meta=Job._meta, __name__="Order")])
    known = apps.get_app_configs()
    monkeypatch.setattr(checks.apps, "get_app_configs", lambda: [*known, orders])
    router = SimpleNamespace(
        db_for_write=lambda model: "jobs" if is_ours_of(model, models) else "default",
        db_for_read=lambda model: "jobs" if is_ours_of(model, models) else "default",
    )
    monkeypatch.setattr(checks, "router", router)
    monkeypatch.setattr(checks, "connections", {"jobs": SimpleNamespace(vendor="sqlite")})

    (error,) = checks.check_database(None)

    assert error.id == "delayhub.E012"
    assert message in error.msg


def is_ours_of(model: Any, names: set[str]) -> bool:
    """Whether it is one of DelayHub's own models of those names."""
    return isinstance(model, type) and model._meta.model_name in names


def test_a_project_that_has_our_handlers_or_no_api_is_not_warned_about_pages_for_errors(settings: Any) -> None:
    assert checks.check_error_pages(None) == []

    settings.ROOT_URLCONF = "tests.integration.tasksapp.api.host_urls"
    (found,) = checks.check_error_pages(None)
    assert found.id == "delayhub.W010"
    assert found.hint is not None
    assert "Write in tests.integration.tasksapp.api.host_urls: handler400 = " in found.hint

    settings.ROOT_URLCONF = None
    assert checks.check_error_pages(None) == []


def test_without_the_app_that_refreshes_pages_there_is_a_warning_where_there_is_an_admin(settings: Any) -> None:
    assert checks.check_refresh(None) == []

    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django_htmx"]
    assert [found.id for found in checks.check_refresh(None)] == ["delayhub.W011"]

    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.admin"]
    assert checks.check_refresh(None) == []
