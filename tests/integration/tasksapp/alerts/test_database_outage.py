"""An outage of the database is told once by all processes, and its end once, with Redis and without."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail

from tasksapp.alerts.database_outage import DatabaseOutage
from tasksapp.alerts.outage_record import OutageRecord
from tasksapp.alerts.watch import Watch
from tasksapp.models import Alert, AlertKind, AlertMessage
from tasksapp.timers.lanes import without_redis
from tests.standing_clock import StandingClock

pytestmark = pytest.mark.django_db

BEGIN = datetime(2026, 11, 22, 10, tzinfo=UTC)


@pytest.fixture(autouse=True)
def owner(settings: Any) -> None:
    settings.DELAYHUB |= {"OWNER_MAIL": ["owner@shop.example"]}


@pytest.fixture(params=["with Redis", "without Redis"])
def redis_is_there(request: pytest.FixtureRequest) -> Iterator[bool]:
    if request.param == "with Redis":
        yield True
        return
    with without_redis():
        yield False


class Machine:
    """Some processes of one machine, whose turns come one after another."""

    def __init__(self, folder: Path, *, processes: int = 3) -> None:
        folder.mkdir(exist_ok=True)
        self.processes = [
            DatabaseOutage(using="default", record=OutageRecord(using="default", folder=folder))
            for _ in range(processes)
        ]

    def run(self, begin: int, end: int, *, away: bool) -> int:
        """Turns every three seconds; how many of them told something."""
        told = 0
        for second in range(begin, end, 3):
            now = BEGIN + timedelta(seconds=second)
            for process in self.processes:
                told += process.note_away(now=now) if away else process.note_answer(now=now)
        return told


@pytest.mark.usefixtures("redis_is_there")
def test_all_processes_of_a_machine_tell_once_that_it_is_away_and_once_that_it_is_back(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    assert machine.run(0, 120, away=True) == 1
    assert machine.run(120, 180, away=False) == 1

    assert [each.subject for each in mail.outbox] == [
        "[DelayHub] The database does not answer: no job is delivered, and none can be created."
    ]
    (alert,) = Alert.objects.filter(kind=AlertKind.DATABASE_AWAY)
    assert (alert.began_at, alert.ended_at) == (BEGIN, BEGIN + timedelta(seconds=120))
    assert [(row.sent_at is None, row.subject.startswith("[DelayHub] Over")) for row in alert.messages.all()] == [
        (True, True),
        (False, False),
    ]


def test_two_machines_tell_it_once_by_redis(tmp_path: Path) -> None:
    one, other = Machine(tmp_path / "one"), Machine(tmp_path / "other")

    assert one.run(0, 30, away=True) + other.run(3, 33, away=True) == 1
    assert one.run(33, 66, away=False) + other.run(33, 66, away=False) == 1


def test_without_redis_each_machine_tells_it_and_one_tells_its_end(tmp_path: Path) -> None:
    one, other = Machine(tmp_path / "one"), Machine(tmp_path / "other")

    with without_redis():
        assert one.run(0, 30, away=True) + other.run(3, 33, away=True) == 2
        one.run(33, 66, away=False)
        other.run(33, 66, away=False)

    assert AlertMessage.objects.filter(sent_at=None).count() == 1
    assert Alert.objects.count() == 1


def test_a_failover_of_seconds_is_not_told(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    assert machine.run(0, 9, away=True) + machine.run(9, 60, away=False) == 0

    assert not mail.outbox
    assert not Alert.objects.exists()


def test_one_that_could_not_be_told_is_tried_again(tmp_path: Path, settings: Any) -> None:
    machine = Machine(tmp_path)
    settings.EMAIL_BACKEND = "delayhub.project.mail_server.EmailBackend"
    assert machine.run(0, 20, away=True) == 0

    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    assert machine.run(20, 60, away=True) == 1

    assert len(mail.outbox) == 1


def test_a_database_that_comes_and_goes_is_told_twice_and_then_not_until_it_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path)

    told = [machine.run(minute * 60, minute * 60 + 30, away=True) for minute in range(1)]
    told += [machine.run(30, 60, away=False)]
    for minute in range(1, 10):
        told += [machine.run(minute * 60, minute * 60 + 30, away=True)]
        told += [machine.run(minute * 60 + 30, minute * 60 + 60, away=False)]
    told += [machine.run(600, 1_300, away=False)]

    assert sum(told) == 4
    assert [alert.returns for alert in Alert.objects.order_by("id")] == [0, 1]


def test_its_end_is_told_where_all_processes_were_started_again_meanwhile(
    tmp_path: Path,
) -> None:
    assert Machine(tmp_path).run(0, 30, away=True) == 1
    clock = StandingClock()
    clock.seconds = (BEGIN + timedelta(minutes=5)).timestamp()
    watch = Watch(using="default", clock=clock)

    for _ in range(5):
        watch.run_once()
        clock.seconds += 3

    assert [row.subject.startswith("[DelayHub] Over") for row in AlertMessage.objects.filter(sent_at=None)] == [True]
    assert Alert.objects.get(kind=AlertKind.DATABASE_AWAY).began_at == BEGIN
    assert not watch.outage.is_open


def test_a_file_of_long_ago_does_not_say_that_an_outage_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with without_redis():  # there another machine has told its end, and it is forgotten
        assert Machine(tmp_path).run(0, 30, away=True) == 1
        (file,) = tmp_path.glob("*.json")
        os.utime(file, (0, 0))
        clock = StandingClock()
        clock.seconds = (BEGIN + timedelta(days=100)).timestamp()
        watch = Watch(using="default", clock=clock)
        for _ in range(5):
            watch.run_once()
            clock.seconds += 3

    assert not AlertMessage.objects.exists()


def test_who_finds_another_users_file_takes_nothing_from_it(tmp_path: Path) -> None:
    record = OutageRecord(using="default", folder=tmp_path)
    (tmp_path / "elsewhere").write_text('{"began_at": 1, "told_at": 2}')
    record._path.symlink_to(tmp_path / "elsewhere")

    with without_redis():
        assert record.read() is None
