"""What the demo asks of the API, and what it shows meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from delayhub.client import AsyncClient, BizType, BulkResult, Job, JobRequest
from delayhub.demo import demo
from delayhub.demo.report import LATEST_MS, Number, Report
from delayhub.demo.samples import SAMPLES
from delayhub.demo.scenario import Change, PlannedJob, plan
from delayhub.demo.site import Site, SiteOptions
from tests.client_models import biz_type_like, job_like

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLANNED = plan(jobs=60, seconds=5, now=NOW, run="r")


class Asked:
    """Answers as the client does, and keeps what it was asked."""

    def __init__(self) -> None:
        self.created: list[dict[str, Any]] = []
        self.bulks: list[int] = []
        self.moved: dict[str, datetime] = {}
        self.cancelled: list[str] = []

    @property
    def jobs(self) -> Asked:
        return self

    async def create(self, biz_type: str, **job: Any) -> Job:
        self.created.append({"biz_type": biz_type, **job})
        return job_like(id=f"id-{len(self.created)}")

    async def create_many(self, jobs: list[JobRequest]) -> list[BulkResult]:
        self.bulks.append(len(jobs))
        return [BulkResult(id=(await self.create(**job)).id, created=True) for job in jobs]

    async def change(self, job_id: str, *, due_at: datetime) -> None:
        self.moved[job_id] = due_at

    async def cancel(self, job_id: str) -> None:
        self.cancelled.append(job_id)

    async def list(self, *, page_size: int) -> AsyncIterator[Job]:
        for number in range(page_size, 0, -1):
            yield job_like(id=f"id-{number}")


@pytest.fixture
def api() -> Asked:
    return Asked()


def create(api: Asked) -> dict[str, PlannedJob]:
    return asyncio.run(demo.create(cast("AsyncClient", api), PLANNED))


def test_every_job_is_created_once_with_its_key_and_time(api: Asked) -> None:
    created = create(api)

    assert sorted(job.biz_id for job in created.values()) == sorted(job.biz_id for job in PLANNED)
    wanted = {job.biz_id: (job.biz_type.code, job.due_at) for job in PLANNED}
    assert {job["biz_id"]: (job["biz_type"], job["due_at"]) for job in api.created} == wanted


def test_jobs_that_are_left_alone_are_created_in_bulks(api: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "BULK", 20)

    create(api)

    assert max(api.bulks) == 20
    assert sum(api.bulks) == sum(job.change is Change.NONE for job in PLANNED)


def test_what_is_planned_is_done_to_each(api: Asked) -> None:
    created = create(api)

    assert {created[job_id].change for job_id in api.cancelled} == {Change.CANCEL}
    assert {created[job_id].change for job_id in api.moved} == {Change.PUT_OFF, Change.BRING_FORWARD}
    for job_id, due_at in api.moved.items():
        moved_to = created[job_id].moved_to
        assert moved_to is not None
        assert due_at == moved_to


def test_jobs_are_read_until_those_of_the_run_are_there(api: Asked) -> None:
    created = {f"id-{number}": PLANNED[0] for number in (7, 999)}

    there = asyncio.run(demo.jobs_of(cast("AsyncClient", api), created))

    assert set(there) == set(created)


def test_the_table_counts_jobs_by_biz_type_and_status() -> None:
    jobs = {str(n): job_like(status="dead" if n < 3 else "pending") for n in range(10)}
    console = Console(record=True, width=100, file=None, quiet=False)

    with console.capture() as shown:
        console.print(demo.by_biz_type(jobs))

    (line,) = [line for line in shown.get().splitlines() if "order.close" in line]
    assert [cell.strip() for cell in line.strip("│").split("│")] == ["order.close", "7", "", "", "3", ""]


def test_the_changes_make_a_sentence() -> None:
    assert demo.changes(PLANNED) == "6 cancelled, 6 moved later, 6 moved earlier"


def test_a_sample_that_was_changed_is_named_with_the_way_out() -> None:
    message = str(demo.SampleChanged(["order.close is paused", "invoice.push is disabled"]))

    assert message.startswith("the demo cannot begin: order.close is paused; invoice.push is disabled: change that")
    assert "--data" in message


class PausedSample:
    """The biz types of a site whose first sample is paused."""

    async def list(self) -> list[BizType]:
        made = [biz_type_like(code=sample.code, max_attempts=sample.max_attempts) for sample in SAMPLES]
        return [replace(made[0], paused_until=datetime.max.replace(tzinfo=UTC)), *made[1:]]


class AskedOfAnotherSample(Asked):
    """The client of that site."""

    biz_types = PausedSample()

    async def __aenter__(self) -> AskedOfAnotherSample:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass


def test_a_demo_whose_sample_was_paused_says_so_and_creates_no_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    api = AskedOfAnotherSample()
    monkeypatch.setattr(demo, "AsyncClient", lambda url, *, api_key: api)
    site = Site(SiteOptions(data_dir=tmp_path))

    with pytest.raises(demo.SampleChanged) as refused:
        asyncio.run(demo.Demo(site, console=Console()).run(jobs=1, seconds=1))

    assert str(refused.value).startswith("the demo cannot begin: order.close is paused: change that back")
    assert api.created == []


RIGHT = Report((Number("jobs", 1, 1), Number("lateness max, ms", 4, at_most=LATEST_MS)), ())
LATE = Report((Number("jobs", 1, 1), Number("lateness max, ms", LATEST_MS + 1, at_most=LATEST_MS)), ())
WRONG = Report((Number("jobs", 0, 1),), ("order.close 7: is pending, must be succeeded",))
PAUSED = ["order.close is paused"]


@pytest.mark.parametrize(
    ("report", "changes_made", "said"),
    [
        (RIGHT, [], []),
        # a sample that was changed when all had gone well is no news
        (RIGHT, PAUSED, []),
        (LATE, [], ["jobs fired later than the 5 s"]),
        # what was not changed is not to blame
        (WRONG, [], ["order.close 7: is pending"]),
        (WRONG, PAUSED, ["order.close 7: is pending", "Meanwhile order.close is paused: change that back"]),
    ],
)
def test_what_is_said_under_the_table_names_only_what_is_so(
    report: Report, changes_made: list[str], said: list[str]
) -> None:
    lines = list(demo.remarks(report, changes_made, load=20.4))

    assert len(lines) == len(said)
    assert all(part in line for part, line in zip(said, lines, strict=True))


def test_late_jobs_are_told_with_the_load_of_the_machine() -> None:
    [line] = demo.remarks(LATE, [], load=20.44)

    assert f"the load of this one is 20.4 on {os.cpu_count()} processors" in line


def test_of_many_faults_the_first_are_shown_and_the_others_counted() -> None:
    lines = list(demo.remarks(Report((), ("fault",) * 25), [], load=0))

    assert len(lines) == demo.SHOWN_FAULTS + 1
    assert lines[-1] == "… and 5 more"
