"""Wrong rows, and times without zones, in the tables of django-celery-beat: prints as JSON what a beat made of them.

A process apart, since the tables are no part of the test project's.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import celery
from hypothesis import example, given
from hypothesis import settings as number_of
from hypothesis import strategies as st

from tests.integration.delayhub.beat.table_project import BROKER, client, clock

# isort: split

from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from django.utils import timezone
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule

import delayhub
from delayhub.beat import DatabaseScheduler
from delayhub.beat.database_scheduler import in_ms
from delayhub.celery_support.periodic import periodic_entries
from delayhub.clock import LAST_MS, SystemClock, due_ms
from tests.property_sizes import examples

app = celery.Celery("tables", broker=BROKER)
app.conf.update(result_expires=None, task_create_missing_queues=False, task_default_queue="celery")
delayhub.install(app)

#: What is wrong with a row: columns of its own, and of its schedule, as SQL writes them, whatever the models check.
WRONG: dict[str, dict[str, Any]] = {
    "crontab of an unknown zone": {"crontab": {"timezone": "Mars/Olympus"}},
    "crontab that cannot be read": {"crontab": {"minute": "61"}},
    "crontab without a minute": {"crontab": {"minute": ""}},
    "crontab with no step": {"crontab": {"minute": "*/0"}},
    "crontab of a day that never is": {"crontab": {"day_of_month": "31", "month_of_year": "2"}},
    "solar without its library": {"solar": {}},
    "solar of an unknown event": {"solar": {"event": "noon_of_mars"}},
    "interval of nothing": {"interval": {"every": 0}},
    "interval backwards": {"interval": {"every": -5}},
    "interval of microseconds": {"interval": {"every": 1, "period": "microseconds"}},
    "interval without end": {"interval": {"every": 2**31 - 1, "period": "days"}},
    "interval of an unknown period": {"interval": {"period": "eons"}},
    "no schedule": {},
    "schedule that is gone": {"interval_id": 999_999},
    "clocked at the first moment": {"clocked": {"clocked_time": "0001-01-01 00:00:00"}, "one_off": True},
    "clocked at the last moment": {"clocked": {"clocked_time": "9999-12-31 23:59:59.999999"}, "one_off": True},
    "clocked at no time": {"clocked": {"clocked_time": "soon"}, "one_off": True},
    "args that are no JSON": {"interval": {}, "args": "[1,"},
    "args that are no list": {"interval": {}, "args": "5"},
    "kwargs that are a list": {"interval": {}, "kwargs": "[1]"},
    "headers that are no JSON": {"interval": {}, "headers": "{"},
    "headers that are a list": {"interval": {}, "headers": "[1]"},
    "headers with an unknown policy": {"interval": {}, "headers": '{"x-delayhub-missed": "perhaps"}'},
    "unknown queue": {"interval": {}, "queue": "nowhere"},
    "no task": {"interval": {}, "task": ""},
    "priority out of range": {"interval": {}, "priority": 99},
    "expires in the past": {"interval": {}, "expires": "2001-01-01 00:00:00"},
    "expires at the first moment": {"interval": {}, "expires": "0001-01-01 00:00:00"},
    "expires after ages": {"interval": {}, "expire_seconds": 2**62},
    "starts at the last moment": {"interval": {}, "start_time": "9999-12-31 23:59:59"},
    "starts at the first moment": {"interval": {}, "start_time": "0001-01-01 00:00:00"},
    "ran at the last moment": {"interval": {}, "last_run_at": "9999-12-31 23:59:59"},
    "changed at the first moment": {"interval": {}, "date_changed": "0001-01-01 00:00:00"},
    "changed at the last moment": {"interval": {}, "date_changed": "9999-12-31 23:59:59"},
}  # fmt: skip


def made(name: str, wrong: dict[str, Any]) -> PeriodicTask:
    """The row, with what is wrong."""
    kinds: dict[str, Any] = {
        "interval": lambda: IntervalSchedule.objects.create(every=3600, period="seconds"),
        "crontab": lambda: CrontabSchedule.objects.create(minute="0", timezone="UTC"),
        "clocked": lambda: ClockedSchedule.objects.create(clocked_time=timezone.now()),
        "solar": lambda: SolarSchedule.objects.create(
            event="sunrise", latitude=SolarSchedule.objects.count(), longitude=1
        ),
    }
    row: PeriodicTask = PeriodicTask.objects.create(name=name, task="t", interval=kinds["interval"]())
    write(row, {"interval_id": None})
    for column, value in wrong.items():
        if column in kinds:
            schedule = kinds[column]()
            write(schedule, value)
            write(row, {f"{column}_id": schedule.pk})
        else:
            write(row, {column: value})
    return row


def write(row: Any, values: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys = OFF")
        for column, value in values.items():
            cursor.execute(f"UPDATE {row._meta.db_table} SET {column} = %s WHERE id = %s", [value, row.pk])


def with_wrong_rows() -> dict[str, Any]:
    """What a beat does about wrong rows: whether a sound one goes on beside them, and what is said of each."""
    hour = IntervalSchedule.objects.create(every=3600, period="seconds")
    PeriodicTask.objects.create(name="sound", task="sound", interval=hour)
    for name, wrong in WRONG.items():
        made(name, wrong)
    beat = DatabaseScheduler(app)
    turns(beat)
    for _ in range(2):
        clock.advance(hours=1, seconds=1)
        turns(beat)
    said = {one.name.removeprefix("tables/"): one for one in periodic_entries(client)}
    beat.close()
    PeriodicTask.objects.all().delete()
    return {
        "published": {name: one.published for name, one in said.items() if not one.schedule.startswith("left out")},
        "left out": {name: one.schedule for name, one in said.items() if one.schedule.startswith("left out")},
        "never": sorted(name for name, one in said.items() if one.next is None and not one.published),
    }


def in_zone(name: str) -> dict[str, Any]:
    """How far away, in minutes, what naive times of the rows say is found to be, with ``USE_TZ = False``."""
    with override_settings(USE_TZ=False, TIME_ZONE=name):
        at = [datetime.now(ZoneInfo(name)).replace(tzinfo=None) + timedelta(minutes=ahead) for ahead in (30, 60, 90)]  # noqa: TID251  it moves nothing
        hour = IntervalSchedule.objects.create(every=3600, period="seconds")
        PeriodicTask.objects.create(name="begins", task="t", interval=hour, start_time=at[0], expires=at[2])
        soon = ClockedSchedule.objects.create(clocked_time=at[1])
        PeriodicTask.objects.create(name="clocked", task="t", clocked=soon, one_off=True)
        beat = DatabaseScheduler(app)
        turns(beat)
        standing = {one.definition.entry.name: one for one in beat._tending().standing.values()}
        begins = standing["begins"].definition
        found = {
            "clocked": standing["clocked"].known.next,
            "starts": begins.bounds.starts_ms,
            "ends": begins.bounds.ends_ms,
            "message expires": due_ms(begins.entry.options["expires"]),
            "edited": begins.bounds.edited_ms,
        }
        beat.close()
        PeriodicTask.objects.all().delete()
    return {what: round((ms - SystemClock().now_ms()) / 60_000) for what, ms in found.items()}


def over_the_calendar() -> str:
    """That each moment of the calendar, with and without a zone, is read as Django means it."""

    @given(at=st.datetimes() | st.datetimes(timezones=st.timezones()), zone=st.timezone_keys(), use_tz=st.booleans())
    @example(at=datetime.min, zone="Asia/Shanghai", use_tz=False)  # noqa: DTZ901  without a zone on purpose
    @example(at=datetime.max, zone="America/New_York", use_tz=False)  # noqa: DTZ901  as above
    @number_of(max_examples=examples(50), deadline=None)
    def test(at: datetime, zone: str, use_tz: bool) -> None:
        with override_settings(USE_TZ=use_tz, TIME_ZONE=zone):
            meant = at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))
            assert in_ms(at) == min(max(1, due_ms(meant)), LAST_MS)

    test()
    return "as Django"


def turns(beat: DatabaseScheduler) -> None:
    beat._look_again_ms = 0
    for _ in range(200):
        if beat.tick() > 0:
            return


def main() -> None:
    call_command("migrate", run_syncdb=True, verbosity=0)
    found = {"rows": with_wrong_rows(), "calendar": over_the_calendar()}
    found |= {zone: in_zone(zone) for zone in ("Asia/Shanghai", "America/New_York", "UTC")}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
