"""``make demo``: creates a few hundred jobs over REST, watches until each has ended, and counts."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from delayhub.client import AsyncClient, Job, JobRequest, JobStatus, Unreachable
from delayhub.clock import SystemClock
from delayhub.demo.receiver import read_received
from delayhub.demo.report import LATEST_MS, Report, follow, report_on
from delayhub.demo.samples import SAMPLES, changed
from delayhub.demo.scenario import Change, PlannedJob, plan
from delayhub.demo.site import BODY_SLOTS, Site, SiteOptions
from delayhub.errors import DelayHubError

BULK = 100
PAGE = 1000
LOOK_SECONDS = 0.5
#: How long the demo waits for another job to end, once all are due.
PATIENCE = timedelta(seconds=60)
SHOWN: tuple[JobStatus, ...] = ("pending", "running", "succeeded", "dead", "cancelled")
SHOWN_FAULTS = 20

WAY_OUT = "change that back in the admin (make up), or give the demo a folder of its own with --data"

Jobs = Mapping[str, Job]


#: The receiver fails every callback of one sample, so that jobs die: a breaker would put that off beyond the end.
NO_BREAKER = {"DELAYHUB_BREAKER_FAILURES": "100000"}


class SampleChanged(DelayHubError):
    """A sample biz type differs from what the demo expects; the message says how, and what to do."""

    def __init__(self, changes: Sequence[str]) -> None:
        super().__init__(f"the demo cannot begin: {'; '.join(changes)}: {WAY_OUT}")


class JobRefused(DelayHubError):
    """The site refused a job of the demo; the message says why."""

    def __init__(self, biz_id: str, reason: str) -> None:
        super().__init__(f"the site refused the demo's job {biz_id}: {reason}")


def run(options: SiteOptions, *, jobs: int, seconds: float) -> int:
    """Starts a site, runs the demo on it, prints the table, and returns 0 if every number is right, else 1.

    Raises:
        SampleChanged: a sample biz type was edited in this data folder.
        DelayHubError: what :class:`Site` raises when a service does not start, or ends.
    """
    console = Console(highlight=False)
    console.print("starting Redis, web server, worker and receiver …")
    with Site(replace(options, settings={**NO_BREAKER, **(options.settings or {})})) as site:
        console.print(f"admin: {site.url}/admin/, logs: {site.folder.logs}", soft_wrap=True)
        try:
            report, changes_made = asyncio.run(Demo(site, console=console).run(jobs=jobs, seconds=seconds))
        except Unreachable:
            site.check()  # raises what says more, if the server has ended
            raise
    console.print()
    console.print(report.table())
    for line in remarks(report, changes_made, load=os.getloadavg()[0]):
        console.print(line, soft_wrap=True)
    return 0 if report.is_right else 1


def remarks(report: Report, changes_made: Sequence[str], *, load: float) -> Iterator[str]:
    """What is said under the table, a line each.

    Args:
        report: how the jobs ended.
        changes_made: how sample biz types differ from those that the demo began with.
        load: how many processes wanted a processor, on the average of the last minute.
    """
    for fault in report.faults[:SHOWN_FAULTS]:
        yield f"[red]✗[/] {fault}"
    if len(report.faults) > SHOWN_FAULTS:
        yield f"… and {len(report.faults) - SHOWN_FAULTS} more"
    if report.is_late:
        yield (
            f"[yellow]![/] jobs fired later than the {LATEST_MS / 1000:g} s that a machine which is not busy needs at"
            f" most; the load of this one is {load:.1f} on {os.cpu_count()} processors"
        )
    if changes_made and not report.is_right:
        yield f"Meanwhile {'; '.join(changes_made)}: {WAY_OUT}."


class Demo:
    """One run of the demo on a site.

    Args:
        site: a site that is up.
        console: where the progress is shown.
    """

    def __init__(self, site: Site, *, console: Console) -> None:
        self._site = site
        self._console = console
        self._clock = SystemClock()

    async def run(self, *, jobs: int, seconds: float) -> tuple[Report, list[str]]:
        """The report on ``jobs`` jobs that are due within ``seconds`` seconds, and how samples were changed meanwhile.

        Raises:
            SampleChanged: a sample differed before it began.
        """
        async with AsyncClient(self._site.url, api_key=self._site.api_key) as api:
            if changes_made := changed(await api.biz_types.list(), now=self._now()):
                raise SampleChanged(changes_made)
        planned = plan(jobs=jobs, seconds=seconds, now=self._now(), run=f"demo-{self._clock.now_ms()}")
        # More at once than the site lets send a body would be told to come again.
        async with AsyncClient(self._site.url, api_key=self._site.api_key, connections=BODY_SLOTS) as api:
            created = await create(api, planned)
            self._console.print(f"{len(created)} jobs created by REST; {changes(planned)}")
            there = await self._watch(api, created)
            changes_made = changed(await api.biz_types.list(), now=self._now())
        return report_on(follow(created, there, read_received(self._site.folder.received))), changes_made

    async def _watch(self, api: AsyncClient, created: Mapping[str, PlannedJob]) -> Jobs:
        last_due = max(job.fires_at for job in created.values())
        most, deadline = 0, last_due + PATIENCE
        bar = Progress(
            TextColumn("ended"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=self._console
        )
        ended = bar.add_task("", total=len(created))
        with Live(console=self._console, refresh_per_second=8) as live:
            while True:
                there = await jobs_of(api, created)
                final = sum(job.has_ended for job in there.values())
                if final > most:
                    most, deadline = final, max(last_due, self._now()) + PATIENCE
                bar.update(ended, completed=final)
                live.update(Group(by_biz_type(there), bar))
                if final == len(created) or self._now() > deadline:
                    return there
                self._site.check()
                await asyncio.sleep(LOOK_SECONDS)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)


async def create(api: AsyncClient, planned: Sequence[PlannedJob]) -> dict[str, PlannedJob]:
    """Creates the jobs, then cancels or moves those that are planned so; gives the jobs by their ids."""
    changed = [job for job in planned if job.change is not Change.NONE]
    others = [job for job in planned if job.change is Change.NONE]
    # Those that are changed come first: the change must be made before the job is due.
    created = dict(await asyncio.gather(*(create_and_change(api, job) for job in changed)))
    chunks = [others[start : start + BULK] for start in range(0, len(others), BULK)]
    for some in await asyncio.gather(*(create_chunk(api, chunk) for chunk in chunks)):
        created |= some
    return created


async def create_and_change(api: AsyncClient, job: PlannedJob) -> tuple[str, PlannedJob]:
    """Creates one job, then cancels or moves it; gives its id and itself."""
    made = await api.jobs.create(**request(job))
    if job.moved_to is not None:
        await api.jobs.change(made.id, due_at=job.moved_to)
    elif job.change is Change.CANCEL:
        await api.jobs.cancel(made.id)
    return made.id, job


async def create_chunk(api: AsyncClient, jobs: Sequence[PlannedJob]) -> dict[str, PlannedJob]:
    """Creates jobs by one request; gives them by their ids. Raises JobRefused where a single one was refused."""
    results = await api.jobs.create_many([request(job) for job in jobs])
    created = {}
    for result, job in zip(results, jobs, strict=True):
        if result.id is None:
            raise JobRefused(job.biz_id, result.error.detail if result.error else "")
        created[result.id] = job
    return created


def request(job: PlannedJob) -> JobRequest:
    """The body of the request that creates the job."""
    return {
        "biz_type": job.biz_type.code,
        "biz_id": job.biz_id,
        "due_at": job.due_at,
        "body": {"biz_id": job.biz_id},
    }


async def jobs_of(api: AsyncClient, created: Mapping[str, PlannedJob]) -> Jobs:
    """Those jobs as the API shows them, by id."""
    there: dict[str, Job] = {}
    async for job in api.jobs.list(page_size=PAGE):
        if job.id in created:
            there[job.id] = job
            if len(there) == len(created):
                break
    return there


def by_biz_type(jobs: Jobs) -> Table:
    """How many jobs of each biz type have which status."""
    counts = Counter((job.biz_type, job.status) for job in jobs.values())
    table = Table(title="Jobs")
    table.add_column("biz type")
    for status in SHOWN:
        table.add_column(status, justify="right")
    for sample in SAMPLES:
        table.add_row(sample.code, *(str(counts[sample.code, status] or "") for status in SHOWN))
    return table


def changes(planned: Sequence[PlannedJob]) -> str:
    """How many jobs are changed, and how, for people."""
    kinds = Counter(job.change for job in planned if job.change is not Change.NONE)
    return ", ".join(f"{number} {change}" for change, number in kinds.items())
