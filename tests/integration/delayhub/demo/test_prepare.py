"""A site's database is made ready, as often as it starts; what a person changed since stays."""

from __future__ import annotations

from typing import Any

import django
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from delayhub.demo.prepare import keep_admin, keep_api_key, keep_biz_type, main, refuse_later_release
from delayhub.demo.samples import CLOSE_ORDER, SAMPLES, SampleBizType
from tasksapp.access.keys import find_key
from tasksapp.models import ApiKey, BizType

pytestmark = pytest.mark.django_db

SECRET = "whsec_" + "c2VjcmV0" * 4


def test_the_admin_can_log_in_and_keeps_a_changed_password() -> None:
    keep_admin("admin", password="first")
    admin = User.objects.get()
    assert admin.is_superuser
    assert admin.check_password("first")
    admin.set_password("changed")
    admin.save()

    keep_admin("admin", password="first")

    assert User.objects.get().check_password("changed")


def test_the_api_key_is_the_one_that_was_given() -> None:
    for _ in range(2):
        keep_api_key("standalone", key="dh_" + "x" * 43)

    owner = find_key("dh_" + "x" * 43)
    assert owner is not None
    assert ApiKey.objects.count() == 1


def test_an_api_key_that_a_person_renamed_or_disabled_stays_so() -> None:
    keep_api_key("standalone", key="dh_" + "x" * 43)
    ApiKey.objects.update(name="mine", enabled=False)

    keep_api_key("standalone", key="dh_" + "x" * 43)

    assert [(key.name, key.enabled) for key in ApiKey.objects.all()] == [("mine", False)]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.code)
def test_a_sample_biz_type_calls_the_receiver(sample: SampleBizType) -> None:
    keep_biz_type(sample, receiver="http://127.0.0.1:1", secret=SECRET)

    made = BizType.objects.get()
    assert (made.code, made.url) == (sample.code, f"http://127.0.0.1:1{sample.path}")
    assert (made.max_attempts, made.signing_secret) == (sample.max_attempts, SECRET)
    made.full_clean()


def test_a_sample_that_a_person_changed_stays_but_for_its_address() -> None:
    keep_biz_type(CLOSE_ORDER, receiver="http://127.0.0.1:1", secret=SECRET)
    BizType.objects.update(name="Mine", max_attempts=9)

    keep_biz_type(CLOSE_ORDER, receiver="http://127.0.0.1:2", secret="whsec_" + "b3RoZXIh" * 4)

    kept = BizType.objects.get()
    assert (kept.name, kept.max_attempts, kept.signing_secret) == ("Mine", 9, SECRET)
    assert kept.url.startswith("http://127.0.0.1:2/")


def test_a_site_whose_settings_no_command_would_run_with_is_not_prepared(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "OWNER_URL": "https://user:secret@shop.example/"}
    monkeypatch.setattr(django, "setup", lambda: None)

    with pytest.raises(SystemExit, match=r"delayhub\.E019.*Credentials do not belong in the URL"):
        main()

    assert not User.objects.exists()


def test_a_site_whose_database_must_be_seen_to_first_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, **_: Any) -> None:
        raise CommandError("the database 'default' stands at 0018_managers_create_jobs")

    monkeypatch.setattr(django, "setup", lambda: None)
    monkeypatch.setattr("delayhub.demo.prepare.call_command", refuse)

    with pytest.raises(SystemExit, match="stands at 0018_managers_create_jobs"):
        main()


def test_a_database_of_a_later_release_is_refused_with_a_sentence() -> None:
    refuse_later_release()
    MigrationRecorder(connection).record_applied("tasksapp", "9999_later")

    with pytest.raises(CommandError, match=r"a later release of DelayHub has migrated the database \(9999_later\)"):
        refuse_later_release()
