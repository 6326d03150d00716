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

MINE = {"0001_tables", "0002_rows"}
EARLIER = ("0001_first", "0002_first_rows", "0003_first_changes")
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
    stand_at(recorder, *EARLIER)

    with pytest.raises(CommandError, match="migrate tasksapp --fake once, then"):
        call_command("migrate", verbosity=0)
    call_command("migrate", "tasksapp", fake=True, verbosity=0)
    call_command("migrate", verbosity=0)

    assert applied(recorder) == {*EARLIER, *MINE}


def test_one_that_stands_half_way_is_told_to_go_the_rest_first(recorder: MigrationRecorder) -> None:
    stand_at(recorder, *EARLIER[:2])

    with pytest.raises(CommandError, match="stands at 0002_first_rows of a checkout"):
        call_command("migrate", verbosity=0)

    assert applied(recorder) == set(EARLIER[:2])


def test_the_reason_says_which_database_where_it_is_not_the_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = import_module("tasksapp.migrations.0001_tables").refuse_earlier_checkouts
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _: {("tasksapp", "0003_first_changes")})
    elsewhere = SimpleNamespace(connection=SimpleNamespace(alias="jobs"))

    with pytest.raises(CommandError, match="--fake --database jobs once, then"):
        refuse(apps, elsewhere)
