"""A site for acceptance tests, and jobs on it."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from delayhub.client import AsyncClient, Job
from delayhub.clock import SystemClock
from delayhub.demo.demo import create, jobs_of
from delayhub.demo.receiver import Received, read_received
from delayhub.demo.report import FollowedJob, follow
from delayhub.demo.scenario import PlannedJob
from delayhub.demo.site import BODY_SLOTS, Site, SiteOptions
from tests.kept_folder import PreparedSite
from tests.waiting import USUAL_SECONDS, wait_until

#: Short leases, so that what a killed worker held is back within seconds.
SHORT_LEASES = {"DELAYHUB_LEASE_SECONDS": "3", "DELAYHUB_BROKER_LEASE_SECONDS": "3"}


def site_in(folder: Path) -> Site:
    """A site with short leases, not started yet."""
    return PreparedSite(SiteOptions(data_dir=folder, settings=SHORT_LEASES))


def now() -> datetime:
    return datetime.fromtimestamp(SystemClock().now_ms() / 1000, UTC)


def soon() -> datetime:
    """Late enough that a busy machine has created and changed some dozens of jobs before the first of them is due."""
    return now() + timedelta(seconds=8)


def create_on(site: Site, planned: Sequence[PlannedJob]) -> dict[str, PlannedJob]:
    """Creates the jobs, and changes those that are to be changed; by id."""

    async def ask() -> dict[str, PlannedJob]:
        # More at once than the site lets send a body would be told to come again.
        async with AsyncClient(site.url, api_key=site.api_key, connections=BODY_SLOTS) as api:
            return await create(api, planned)

    return asyncio.run(ask())


def jobs_on(site: Site, created: Mapping[str, PlannedJob]) -> Mapping[str, Job]:
    """The jobs as the API shows them, by id."""

    async def ask() -> Mapping[str, Job]:
        async with AsyncClient(site.url, api_key=site.api_key) as api:
            return await jobs_of(api, created)

    return asyncio.run(ask())


def received_by(site: Site, created: Container[str]) -> list[Received]:
    """The callbacks of those jobs so far."""
    return [callback for callback in read_received(site.folder.received) if callback.job_id in created]


def wait_until_all_ended(
    site: Site, created: Mapping[str, PlannedJob], *, within_seconds: float = USUAL_SECONDS
) -> list[FollowedJob]:
    """The jobs, once each has a final status."""

    def unended() -> dict[str, str]:
        return {id_: job.status for id_, job in jobs_on(site, created).items() if not job.has_ended}

    wait_until(
        lambda: not unended(),
        within_seconds=within_seconds,
        otherwise=lambda: f"not ended: {unended()}\n{site.worker.log_tail()}",
    )
    return follow(created, jobs_on(site, created), received_by(site, created))
