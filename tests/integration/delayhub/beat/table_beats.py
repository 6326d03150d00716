"""Beats on the tables of django-celery-beat, in a project of their own: prints as JSON what each scenario showed.

A process apart, since the tables are no part of the test project's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import celery

from tests.integration.delayhub.beat.table_project import BROKER, client, clock

# isort: split

from django.core.management import call_command
from django.utils import timezone
from django_celery_beat.models import ClockedSchedule, IntervalSchedule, PeriodicTask, PeriodicTasks

import delayhub
from delayhub.beat import DatabaseScheduler
from delayhub.beat.tended_entries import Standing
from delayhub.engine import DelayQueue
from tests.waiting import wait_until

app = celery.Celery("tables", broker=BROKER)
app.conf.update(
    result_expires=None,
    beat_schedule={
        "coded": {"task": "coded", "schedule": timedelta(hours=9), "args": [1], "options": {"queue": "coded"}},
        "daily": {"task": "coded", "schedule": celery.schedules.crontab("0", "3"), "options": {"queue": "coded"}},
    },
)
delayhub.install(app)


def turns(*beats: DatabaseScheduler, rounds: int = 3) -> int:
    """Each beat does what is due; how many messages came of it."""
    before = published()
    for beat in beats:
        beat._look_again_ms = 0
    for _ in range(rounds):
        for beat in beats:
            beat.tick()
    return published() - before


def published() -> int:
    return DelayQueue(client, "celery").count().ready


def hourly(name: str, **fields: Any) -> PeriodicTask:
    hour, _ = IntervalSchedule.objects.get_or_create(every=3600, period="seconds")
    return PeriodicTask.objects.create(**{"name": name, "task": name, "interval": hour, **fields})


def after(beats: list[DatabaseScheduler], **length: float) -> int:
    clock.advance(**length)
    return turns(*beats)


def rewriting(beats: list[DatabaseScheduler]) -> dict[str, Any]:
    before = list(PeriodicTask.objects.order_by("name").values()), PeriodicTasks.last_change()
    DatabaseScheduler(app).close()
    same = before == (list(PeriodicTask.objects.order_by("name").values()), PeriodicTasks.last_change())
    app.conf.beat_schedule["coded"]["args"] = [2]
    DatabaseScheduler(app).close()
    return {"untouched": same, "changed": PeriodicTask.objects.get(name="coded").args}


def counting(beats: list[DatabaseScheduler]) -> dict[str, Any]:
    row = hourly("hourly")
    counts = [turns(*beats), *(after(beats, hours=1) for _ in range(3))]
    row.refresh_from_db()
    row.delete()
    return {"published": counts, "runs": row.total_run_count, "has_last": row.last_run_at is not None}


def one_off(beats: list[DatabaseScheduler]) -> dict[str, Any]:
    row = hourly("once", one_off=True)
    turns(*beats)
    first = [after(beats, hours=1), after(beats, hours=2)]
    row.refresh_from_db()
    enabled = [row.enabled]
    PeriodicTask.objects.filter(pk=row.pk).update(enabled=True)  # as the admin's action does it
    PeriodicTasks.update_changed()
    for beat in beats:
        beat.sync()
    turns(*beats)
    row.refresh_from_db()
    again = [after(beats, hours=1), after(beats, hours=2)]
    enabled.append(row.enabled)
    row.delete()
    return {"first": first, "again": again, "enabled": enabled}


def killed(beats: list[DatabaseScheduler]) -> dict[str, Any]:
    row = hourly("once", one_off=True)
    turns(*beats)
    first, *others = beats

    def die(standing: Standing, _: Any) -> None:
        if standing.definition.entry.name == "once":
            raise SystemExit

    first.note_published = die  # type: ignore[method-assign]  # it is killed there
    died = 0
    clock.advance(hours=1)
    before = published()
    try:
        turns(first)
    except SystemExit:
        died = published() - before
    finally:
        del first.note_published
    more = turns(*others)
    row.refresh_from_db()
    row.delete()
    return {"died_after": died, "more": more, "enabled": row.enabled}


def edits(beats: list[DatabaseScheduler]) -> dict[str, Any]:
    row = hourly("edited")
    turns(*beats)
    row.interval, _ = IntervalSchedule.objects.get_or_create(every=600, period="seconds")
    row.save()
    shorter = [turns(*beats), after(beats, minutes=10, seconds=1), after(beats, minutes=10)]
    row.enabled = False
    row.save()
    disabled = after(beats, hours=5)
    row.enabled = True
    row.save()
    enabled = [turns(*beats), after(beats, minutes=10)]
    row.delete()
    return {"shorter": shorter, "disabled": disabled, "enabled": enabled, "deleted": after(beats, hours=1)}


def actions(beats: list[DatabaseScheduler]) -> dict[str, Any]:
    """Rows are disabled and enabled as the admin's actions do it, which leave their time of change as it was."""
    row = hourly("toggled")
    rows = PeriodicTask.objects.filter(pk=row.pk)
    found = [turns(*beats), after(beats, hours=1)]
    rows.update(enabled=False, last_run_at=None)
    PeriodicTasks.update_changed()
    found += [turns(*beats), after(beats, hours=5, minutes=30)]
    rows.update(enabled=True)
    PeriodicTasks.update_changed()
    found += [turns(*beats), after(beats, minutes=30)]
    row.delete()
    return {"published": found}


def bounds(beats: list[DatabaseScheduler]) -> dict[str, Any]:
    ending = hourly("ending", expires=timezone.now() + timedelta(seconds=0.3))
    starting = hourly("starting", start_time=timezone.now() + timedelta(hours=2))
    turns(*beats)
    found = [after(beats, hours=1, minutes=50), after(beats, minutes=10)]
    wait_until(lambda: not turns(*beats) and not PeriodicTask.objects.get(pk=ending.pk).enabled, otherwise="its end")
    ending.delete()
    starting.delete()
    return {"published": found}


def at_a_clock_time(beats: list[DatabaseScheduler]) -> dict[str, Any]:
    soon = ClockedSchedule.objects.create(clocked_time=timezone.now() + timedelta(seconds=0.4))
    row = PeriodicTask.objects.create(name="clocked", task="clocked", clocked=soon, one_off=True)
    before = published()
    wait_until(lambda: turns(*beats) or not PeriodicTask.objects.get(pk=row.pk).enabled, otherwise="its time")
    wait_until(lambda: not PeriodicTask.objects.get(pk=row.pk).enabled, otherwise="its end")
    turns(*beats)
    row.delete()
    return {"published": published() - before, "late": timezone.now() < soon.clocked_time}


def main() -> None:
    call_command("migrate", run_syncdb=True, verbosity=0)
    beats = [DatabaseScheduler(app) for _ in range(3)]
    turns(*beats)
    scenarios: list[Callable[[list[DatabaseScheduler]], dict[str, Any]]]
    scenarios = [rewriting, counting, one_off, killed, edits, actions, bounds, at_a_clock_time]
    found = {scenario.__name__: scenario(beats) for scenario in scenarios}
    for beat in beats:
        beat.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
