"""A PostgreSQL primary goes and its standby is promoted, while jobs are created and delivered: real replication."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.error import URLError

import pytest

from delayhub.demo.receiver import read_received
from delayhub.demo.site import SiteOptions
from tests.acceptance.site import SHORT_LEASES
from tests.kept_folder import PreparedSite
from tests.postgres_pair import PostgresPair
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until
from tests.web_server import asked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

#: After the standby takes writes, and the address leads to it, creates pass within this.
CREATES_WITHIN_SECONDS = 2.0
CALLERS = 4
#: Jobs that ended so long before the primary went were noted as ended: they do not come twice.
NOTED_SECONDS = 3.0


class LastingSite(PreparedSite):
    """A site whose processes keep connections to the database until they break."""

    @cached_property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "DJANGO_SETTINGS_MODULE": "tests.lasting_connections"}


class Callers:
    """Create jobs one after the other, each repeated with its idempotency key until it is accepted."""

    def __init__(self, site: PreparedSite) -> None:
        self._site = site
        self._ends = Event()
        self._threads = [Thread(target=self._run, args=[name]) for name in range(CALLERS)]
        #: When each key was accepted, with the id of its job, and when a try was refused, with the problem's code.
        self.accepted: dict[str, tuple[float, str]] = {}
        self.refused: list[tuple[float, str]] = []
        #: When each caller's first create passed that was sent after the address led to the new primary.
        self.passed_at: dict[int, float] = {}
        self.leads_at = float("inf")

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def refusals_after(self, moment: float) -> Counter[str]:
        return Counter(code for at, code in self.refused if at > moment)

    def _run(self, caller: int) -> None:
        number = 0
        while not self._ends.is_set():
            key = f"{caller}-{number}"
            body = {"biz_type": "order.close", "biz_id": key, "delay": 1, "idempotency_key": key}
            answer = self._ask(body)
            if answer is not None and answer.status in (200, 201):
                now = time.monotonic()
                self.accepted[key] = now, answer.json["id"]
                if now > self.leads_at:
                    self.passed_at.setdefault(caller, now)
                number += 1
            else:
                self.refused.append((time.monotonic(), "" if answer is None else answer.json["code"]))
            self._ends.wait(0.1)

    def _ask(self, body: dict[str, Any]) -> Any:
        try:
            return asked(self._site.web_port, "POST", "/jobs", body, key=self._site.api_key)
        except (URLError, OSError):
            return None


@contextmanager
def site_on(folder: Path, address: str, *, lasting: bool) -> Iterator[PreparedSite]:
    kind = LastingSite if lasting else PreparedSite
    settings = {**SHORT_LEASES, "DELAYHUB_DATABASE_URL": address}
    with kind(SiteOptions(data_dir=folder, settings=settings)) as site:
        yield site


def delivered(site: PreparedSite) -> Counter[str]:
    """How often each job was delivered."""
    return Counter(callback.job_id for callback in read_received(site.folder.received))


def judge(site: PreparedSite, callers: Callers, *, gone_at: float) -> None:
    """Creates passed in time; no job is lost; and none that had ended before comes again."""
    late = {caller: at - callers.leads_at for caller, at in callers.passed_at.items()}
    assert len(late) == CALLERS
    assert max(late.values()) < CREATES_WITHIN_SECONDS, (late, callers.refusals_after(callers.leads_at))

    wanted = {job_id for _, job_id in callers.accepted.values()}
    assert len(wanted) == len(callers.accepted)  # no key has the job of another one
    wait_until(lambda: wanted <= delivered(site).keys(), within_seconds=60, otherwise=site.worker.log_tail)

    known = {job_id: at for at, job_id in callers.accepted.values()}
    counts = delivered(site)
    assert counts.keys() == wanted  # a create that was repeated made one job
    twice = {job_id for job_id, times in counts.items() if times > 1}
    # At least once: what was under way when the primary went may come again, and nothing else.
    assert {
        job_id for job_id in twice if not gone_at - 1 - NOTED_SECONDS < known[job_id] < callers.leads_at + 1
    } == set()


@pytest.mark.parametrize(
    "lasting", [pytest.param(False, marks=pytest.mark.nightly, id="for 60 s"), pytest.param(True, id="for good")]
)
def test_a_switchover_that_leaves_connections_on_the_old_primary(tmp_path: Path, *, lasting: bool) -> None:
    with PostgresPair() as pair, TcpProxy(pair.primary.port) as proxy:
        address = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
        with site_on(tmp_path / "site", address, lasting=lasting) as site:
            pair.replicate()
            with Callers(site) as callers:
                wait_until(lambda: len(delivered(site)) > 3 * CALLERS, otherwise=site.worker.log_tail)

                gone_at = time.monotonic()
                pair.demote()
                demoted_at = time.monotonic()
                # Connections land on the old primary, which is a standby by now, as behind a proxy that lags.
                wait_until(lambda: callers.refusals_after(demoted_at)["database_read_only"] >= 3 * CALLERS)
                pair.standby.promote()
                proxy.target = pair.standby.port  # those that are there stay where they are
                callers.leads_at = time.monotonic()

                wait_until(lambda: len(callers.passed_at) == CALLERS, within_seconds=30)
            judge(site, callers, gone_at=gone_at)


@pytest.mark.nightly
@pytest.mark.parametrize("lasting", [False, True], ids=["for 60 s", "for good"])
@pytest.mark.parametrize("by", ["proxy", "addresses"])
def test_a_failover_to_a_standby_that_is_read_before_it_is_promoted(tmp_path: Path, by: str, *, lasting: bool) -> None:
    with PostgresPair() as pair, TcpProxy(pair.primary.port) as proxy:
        address = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
        if by == "addresses":  # libpq looks for the one that takes writes
            hosts = f"host=127.0.0.1,127.0.0.1&port={pair.primary.port},{pair.standby.port}"
            address = f"postgresql://postgres@/postgres?{hosts}&target_session_attrs=read-write"
        with site_on(tmp_path / "site", address, lasting=lasting) as site:
            pair.replicate()
            with Callers(site) as callers:
                wait_until(lambda: len(delivered(site)) > 50, otherwise=site.worker.log_tail)

                gone_at = time.monotonic()
                pair.primary.stop(mode="immediate")
                proxy.target = pair.standby.port
                wait_until(lambda: callers.refusals_after(gone_at).total() >= 20)
                pair.standby.promote()
                callers.leads_at = time.monotonic()

                wait_until(lambda: len(callers.passed_at) == CALLERS, within_seconds=30)
                wait_until(lambda: len(callers.accepted) > 200)
            judge(site, callers, gone_at=gone_at)
