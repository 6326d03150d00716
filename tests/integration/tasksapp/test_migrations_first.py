"""A database that a checkout before the first release has migrated: what its owner is told."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey

MINE = {"0001_first", "0002_first_rows", "0003_first_changes"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def recorder() -> Iterator[MigrationRecorder]:
    """What says which migrations the database has; it says the same again after the test."""
    recorder = MigrationRecorder(connection)
    yield recorder
    for app, name in recorder.applied_migrations():
        if app == "tasksapp":
            recorder.record_unapplied(app, name)
    for name in sorted(MINE):
        recorder.record_applied("tasksapp", name)


def stand_at(recorder: MigrationRecorder, *names: str) -> None:
    for name in MINE:
        recorder.record_unapplied("tasksapp", name)
    for name in names:
        recorder.record_applied("tasksapp", name)


def applied(recorder: MigrationRecorder) -> set[str]:
    return {name for app, name in recorder.applied_migrations() if app == "tasksapp"}


def test_one_that_has_all_tables_is_told_to_note_that_it_has(recorder: MigrationRecorder) -> None:
    call_command("migrate", "tasksapp", "0002", verbosity=0)  # what came later it does not have
    stand_at(recorder, "0001_initial", "0031_revision")

    with pytest.raises(CommandError, match="migrate tasksapp 0002 --fake once, then"):
        call_command("migrate", verbosity=0)
    call_command("migrate", "tasksapp", "0002", fake=True, verbosity=0)
    call_command("migrate", verbosity=0)

    assert applied(recorder) == {"0001_initial", "0031_revision", *MINE}


def test_one_that_stands_half_way_is_told_to_go_the_rest_first(recorder: MigrationRecorder) -> None:
    stand_at(recorder, "0001_initial", "0018_managers_create_jobs")

    with pytest.raises(CommandError, match="stands at 0018_managers_create_jobs of a checkout"):
        call_command("migrate", verbosity=0)

    assert applied(recorder) == {"0001_initial", "0018_managers_create_jobs"}


def test_the_reason_says_which_database_where_it_is_not_the_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = import_module("tasksapp.migrations.0001_first").refuse_earlier_checkouts
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _: {("tasksapp", "0031_revision")})
    elsewhere = SimpleNamespace(connection=SimpleNamespace(alias="jobs"))

    with pytest.raises(CommandError, match="--fake --database jobs once, then"):
        refuse(apps, elsewhere)


def test_keys_of_an_earlier_checkout_keep_what_they_may_do(recorder: MigrationRecorder) -> None:
    row = issue_key("shop", scopes=["jobs:read", "biz-types:write"]).row
    try:
        call_command("migrate", "tasksapp", "0002", verbosity=0)
        before = ApiKey.objects.values_list("scopes", flat=True).get()
    finally:
        call_command("migrate", "tasksapp", verbosity=0)

    row.refresh_from_db()
    assert (before, row.scopes) == (["jobs:read", "biz_types:write"], ["jobs:read", "biz-types:write"])
