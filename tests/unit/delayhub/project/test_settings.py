"""The settings of the ready-made project: what the environment says, and what is so without it."""

from __future__ import annotations

import importlib.util
import os
import stat
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured

from delayhub.project import settings as imported


def settings_with(folder: Path, **variables: str) -> ModuleType:
    """The settings module as a process with these ``DELAYHUB_*`` variables gets it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("DELAYHUB_")}
    own |= {"DELAYHUB_DATA_DIR": str(folder), **{f"DELAYHUB_{name}": value for name, value in variables.items()}}
    spec = importlib.util.spec_from_file_location("settings_of_a_test", imported.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.dict(os.environ, own, clear=True):
        spec.loader.exec_module(module)
    return module


def test_without_a_variable_it_runs_on_this_machine(tmp_path: Path) -> None:
    found = settings_with(tmp_path)

    assert found.DATABASES["default"]["NAME"] == f"{tmp_path}/delayhub.sqlite3"
    assert (tmp_path / "secret_key").read_text() == found.SECRET_KEY
    assert found.BROKER_URL == "delayhub://127.0.0.1:6379/0"
    assert (found.DEBUG, found.ALLOWED_HOSTS) == (False, ["127.0.0.1", "localhost", "[::1]"])


@pytest.mark.parametrize(
    "url",
    ["nosuch://secret@db/name", "postgresql://ann:secret@[db/name", "postgresql://ann:secret/Zw+@db/name", "db/name"],
)
def test_an_address_of_a_database_that_cannot_be_read_is_refused_without_its_password(tmp_path: Path, url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DELAYHUB_DATABASE_URL must be such as postgresql://") as refused:
        settings_with(tmp_path, DATABASE_URL=url)

    assert "secret" not in str(refused.value)
    assert "%2F for a slash" in str(refused.value)


def test_only_its_owner_reads_what_is_in_its_data_folder(tmp_path: Path) -> None:
    found = settings_with(tmp_path / "new")

    folder, database = tmp_path / "new", Path(found.DATABASES["default"]["NAME"])
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "secret_key", database)]
    assert modes == [0o700, 0o600, 0o600]


def test_the_secret_key_is_the_same_at_every_start(tmp_path: Path) -> None:
    assert settings_with(tmp_path).SECRET_KEY == settings_with(tmp_path).SECRET_KEY
    assert settings_with(tmp_path, SECRET_KEY="given").SECRET_KEY == "given"


def test_https_is_one_switch(tmp_path: Path) -> None:
    off, on = settings_with(tmp_path), settings_with(tmp_path, HTTPS="1", HSTS_SECONDS="60")
    names = ("SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE")

    assert [getattr(off, name) for name in names] == [False] * 3
    assert [getattr(on, name) for name in names] == [True] * 3
    assert (off.SECURE_HSTS_SECONDS, on.SECURE_HSTS_SECONDS) == (0, 60)


@pytest.mark.parametrize(
    ("site_url", "path"),
    [
        ("https://shop.example/hub/", "/hub"),
        ("https://shop.example", ""),
        ("https://shop.example/", ""),
        ("shop.example/hub", ""),  # no address: where a path begins in it is not known
    ],
)
def test_the_site_is_below_the_path_of_its_address(tmp_path: Path, site_url: str, path: str) -> None:
    found = settings_with(tmp_path, SITE_URL=site_url)

    assert (found.FORCE_SCRIPT_NAME or "", found.STATIC_URL) == (path, f"{path}/static/")
    assert f"sessionid{path}".replace("/", "_") == found.SESSION_COOKIE_NAME


def test_a_proxy_is_trusted_only_where_that_is_said(tmp_path: Path) -> None:
    careful, trusting = settings_with(tmp_path), settings_with(tmp_path, TRUST_PROXY="yes")

    assert not hasattr(careful, "SECURE_PROXY_SSL_HEADER")
    assert trusting.SECURE_PROXY_SSL_HEADER == ("HTTP_X_FORWARDED_PROTO", "https")
    assert [found.REST_FRAMEWORK["NUM_PROXIES"] for found in (careful, trusting)] == [0, 1]


def test_the_apis_document_is_for_callers_unless_that_is_said(tmp_path: Path) -> None:
    assert settings_with(tmp_path).DELAYHUB["SCHEMA_ACCESS"] == "callers"
    assert settings_with(tmp_path, SCHEMA_ACCESS="anyone").DELAYHUB["SCHEMA_ACCESS"] == "anyone"


def test_health_checks_are_not_redirected_to_https(tmp_path: Path) -> None:
    import re

    exempt = settings_with(tmp_path).SECURE_REDIRECT_EXEMPT

    assert [bool(re.search(exempt[0], path)) for path in ("livez", "admin/livez")] == [True, False]


@pytest.mark.parametrize(
    ("url", "engine"),
    [("postgresql://u:p@db.example/hub", "postgresql"), ("sqlite:////srv/hub.sqlite3", "sqlite3")],
)
def test_connections_are_kept_and_checked(
    url: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
    config = settings_with(tmp_path, SECRET_KEY="k", DATABASE_URL=url).DATABASES["default"]

    assert config["ENGINE"] == f"django.db.backends.{engine}"
    assert (config["CONN_MAX_AGE"], config["CONN_HEALTH_CHECKS"]) == (60, True)


def test_sqlite_takes_many_writers(tmp_path: Path) -> None:
    options = settings_with(tmp_path).DATABASES["default"]["OPTIONS"]

    assert options["transaction_mode"] == "IMMEDIATE"
    assert "journal_mode=WAL" in options["init_command"]


def test_each_lane_is_a_queue_whose_timers_the_deliver_task_gets(tmp_path: Path) -> None:
    found = settings_with(tmp_path, LANES="delayhub.timers, slow")

    tasks, *lanes = found.CELERY_TASK_QUEUES
    assert tasks.name == found.CELERY_TASK_DEFAULT_QUEUE
    assert [lane.name for lane in lanes] == ["delayhub.timers", "slow"] == found.DELAYHUB["LANES"]
    assert {lane.queue_arguments["x-delayhub-task"] for lane in lanes} == {"tasksapp.deliver"}


def test_behind_sentinel_the_master_is_named_by_a_variable(tmp_path: Path) -> None:
    url = "delayhub-sentinel://a:26379;delayhub-sentinel://b:26379"

    found = settings_with(tmp_path, BROKER_URL=url, BROKER_MASTER_NAME="clock")
    guarded = settings_with(tmp_path, BROKER_URL=url, BROKER_MASTER_NAME="clock", BROKER_SENTINEL_PASSWORD="pw")

    assert found.CELERY_BROKER_TRANSPORT_OPTIONS == {"lease_seconds": 30, "master_name": "clock"}
    assert guarded.CELERY_BROKER_TRANSPORT_OPTIONS["sentinel_kwargs"] == {"password": "pw"}
    with pytest.raises(ImproperlyConfigured, match="DELAYHUB_BROKER_MASTER_NAME must be set, since"):
        settings_with(tmp_path, BROKER_URL=url)


def test_a_task_is_acknowledged_when_it_is_done(tmp_path: Path) -> None:
    found = settings_with(tmp_path)

    assert found.CELERY_TASK_ACKS_LATE
    assert found.CELERY_TASK_REJECT_ON_WORKER_LOST
    assert found.CELERY_ACCEPT_CONTENT == ["json"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("NEAR_WINDOW_SECONDS", "9"), ("LEASE_SECONDS", "soon"), ("LOG_FORMAT", "xml"), ("DEBUG", "perhaps")],
)
def test_a_variable_that_cannot_work_is_named_at_the_start(name: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"DELAYHUB_{name} must be"):
        settings_with(tmp_path, **{name: value})
