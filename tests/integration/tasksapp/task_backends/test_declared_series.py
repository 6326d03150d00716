"""Series that tasks declare: one for each, also after many deploys."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub import delayed_task
from tasksapp import series
from tasksapp.errors import InvalidSeries
from tasksapp.models import BizType, Job, Series, Tenant
from tasksapp.task_backends import declared_series
from tasksapp.task_backends.declared_series import sync
from tasksapp.workers.biz_type_report import is_biz_type_of

pytestmark = pytest.mark.django_db(transaction=True)


class Declared:
    """A task of that name that repeats so."""

    biz_type = "report.make"
    job_tenant = None
    job_max_attempts = 3
    is_alias = False

    def __init__(self, name: str, *, aliases: tuple[str, ...] = (), **repeats: Any) -> None:
        self.name = name
        self.aliases = aliases
        self.job_series = repeats


def done(*tasks: Declared, dry_run: bool = False) -> list[tuple[str, str]]:
    return [tuple(step) for step in sync(tasks, dry_run=dry_run)]  # type: ignore[misc]  # a step has two parts


def test_each_deploy_brings_the_stored_series_in_step_and_makes_no_second_one(db: None) -> None:
    morning = Declared("shop.morning", cron="0 9 * * 1-5", time_zone="Asia/Shanghai", overlap="skip")
    often = Declared("shop.often", every=3600, flow_key="tenant 1")

    assert done(often, morning, dry_run=True) == [("create", "shop.morning"), ("create", "shop.often")]
    assert not Series.objects.exists()
    assert done(often, morning) == [("create", "shop.morning"), ("create", "shop.often")]
    assert done(often, morning) == [("same", "shop.morning"), ("same", "shop.often")]

    row = Series.objects.get(name="shop.morning")
    assert (row.biz_type.task_name, row.overlap, row.max_attempts) == ("shop.morning", "skip", 3)
    assert Job.objects.filter(series=row).count() == 1
    assert Job.objects.get(series__name="shop.often").flow_key == "tenant 1"
    series.pause(row.pk, reason="holidays")
    changed = Declared("shop.morning", cron="30 9 * * *")
    assert done(changed) == [("change", "shop.morning"), ("delete", "shop.often")]
    row = Series.objects.get()
    assert (row.cron, row.time_zone, row.overlap, row.is_paused) == ("30 9 * * *", "UTC", "start", True)


def test_a_renamed_task_keeps_its_series(db: None) -> None:
    done(Declared("shop.morning", cron="0 9 * * *"))
    before = Series.objects.get().pk

    assert done(Declared("shop.dawn", cron="0 9 * * *", aliases=("shop.morning",))) == [("change", "shop.dawn")]

    row = Series.objects.get()
    assert (row.pk, row.name, row.declared_by) == (before, "shop.dawn", "shop.dawn")


@pytest.mark.parametrize("is_paused", [False, True])
@pytest.mark.parametrize("named", [{"biz_type": "report.other"}, {"job_tenant": "acme"}])
def test_a_task_that_names_another_biz_type_has_its_series_there(
    db: None, named: dict[str, Any], *, is_paused: bool
) -> None:
    Tenant.objects.create(code="acme")
    done(Declared("shop.morning", cron="0 9 * * *"))
    before = Series.objects.get()
    if is_paused:
        series.pause(before.pk, reason="holidays")
    moved = Declared("shop.morning", cron="0 9 * * *")
    vars(moved).update(named)

    assert done(moved, dry_run=True) == [("change", "shop.morning")]
    assert BizType.objects.count() == 1
    assert done(moved) == [("change", "shop.morning")]
    assert done(moved) == [("same", "shop.morning")]

    row = Series.objects.get()
    assert row.biz_type != before.biz_type
    assert (row.biz_type.code, row.biz_type.tenant.code) == (moved.biz_type, moved.job_tenant or "default")
    assert (row.is_paused, row.pause_reason) == (is_paused, "holidays" if is_paused else "")
    assert list(Job.objects.values_list("series", flat=True)) == ([] if is_paused else [row.pk])


def test_of_several_deploys_at_once_one_moves_and_deletes_what_is_elsewhere_now(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done(Declared("shop.morning", cron="0 9 * * *"), Declared("shop.often", every=3600))
    moved = Declared("shop.morning", cron="0 9 * * *")
    vars(moved)["biz_type"] = "report.other"

    def after_another_deploy(task: Any, biz_type: BizType) -> bool:
        monkeypatch.undo()
        assert done(moved) == [("change", "shop.morning"), ("delete", "shop.often")]
        return is_biz_type_of(task, biz_type)

    monkeypatch.setattr(declared_series, "is_biz_type_of", after_another_deploy)

    assert done(moved) == [("same", "shop.morning"), ("delete", "shop.often")]
    assert Series.objects.get().biz_type.code == "report.other"


def test_what_a_person_made_is_left_alone(biz_type: BizType) -> None:
    series.create("order.close", name="by hand", every=60)

    assert done() == []
    assert Series.objects.count() == 1


def test_a_declaration_that_cannot_be_is_named(db: None) -> None:
    with pytest.raises(InvalidSeries, match="cannot be read"):
        done(Declared("shop.never", cron="0 0 30 2 *"))


@pytest.mark.parametrize("repeats", [{"cron": "* * * * *", "every": 60}, {"time_zone": "UTC"}, {"overlap": "skip"}])
def test_a_declaration_has_one_of_cron_and_every(repeats: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="one of cron and every"):
        delayed_task(biz_type="a", **repeats)
