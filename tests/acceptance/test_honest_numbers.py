"""Numbers on the admin's pages while jobs drain: each names its moment, and is what the database had at that moment.

``HONEST_NUMBERS_JOBS`` says how many jobs drain, and ``DELAYHUB_DATABASE_URL`` on which database; the suite has few
by day, on SQLite.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as clock
from html import unescape
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests

from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import ADMIN_NAME, Site
from tests.acceptance.site import now, site_in
from tests.html_form import form_fields
from tests.property_sizes import examples
from tests.waiting import wait_until

JOBS = int(os.environ.get("HONEST_NUMBERS_JOBS", examples(1_000)))
#: So that it takes a while, but no more than some minutes.
PER_SECOND = 125 if JOBS < 20_000 else 250
PAGES = {
    "overview": "/admin/tasksapp/",
    "biz type": "/admin/tasksapp/biztype/{id}/change/",
    "jobs": f"/admin/tasksapp/job/?tab=pending&biz_type={CLOSE_ORDER.code}",
}
#: Numbers change by the second; a page costs the site a hundredth of a second and more.
BETWEEN_READINGS_SECONDS = 0.2
#: A moment is shown by the second; and an outcome has its time a while before it is written, on a busy machine too.
SHOWN_BY, WRITTEN_WITHIN = timedelta(seconds=1), timedelta(seconds=3)


@dataclass(frozen=True)
class Reading:
    """What a page said: of which moment, and how many jobs had not ended then."""

    page: str
    at: datetime
    left: int


@pytest.mark.nightly  # by day: tests/integration/tasksapp/stats/test_counts.py
@pytest.mark.slow
def test_each_number_on_a_page_is_that_of_the_moment_it_names_while_jobs_drain(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        [(key,)] = asked(site, f"SELECT id FROM delayhub_biz_type WHERE code = '{CLOSE_ORDER.code}'")
        person = signed_in(site)
        # until the loader has counted, pages count themselves
        wait_until(
            lambda: asked(site, "SELECT biz_type_id FROM delayhub_job_count"),
            otherwise=site.worker.log_tail,
        )
        limit(site)
        created_at = create_jobs(site)

        readings: set[Reading] = set()
        while asked(site, "SELECT 1 FROM delayhub_job WHERE finished_at IS NULL LIMIT 1"):
            for name, path in PAGES.items():
                answer = person.get(site.url + path.format(id=key), timeout=60)
                assert answer.status_code == 200
                if (reading := read(name, answer.text)) is not None:
                    readings.add(reading)
            time.sleep(BETWEEN_READINGS_SECONDS)
        person.close()

        ended = [moment(at) for (at,) in asked(site, "SELECT finished_at FROM delayhub_job")]
    counted = {reading for reading in readings if reading.at > created_at}
    assert {reading.page for reading in counted} == set(PAGES)
    # Some of them amid the drain, where numbers change by the second.
    assert [reading for reading in counted if 0 < reading.left < JOBS]
    for reading in counted:
        fewest = sum(at > reading.at + SHOWN_BY for at in ended)
        most = sum(at > reading.at - WRITTEN_WITHIN for at in ended)
        assert fewest <= reading.left <= most, reading


def signed_in(site: Site) -> requests.Session:
    """A browser of the site's admin."""
    person = requests.Session()
    fields = form_fields(person.get(f"{site.url}/admin/login/", timeout=60).text, "login-form")
    fields |= {"username": ADMIN_NAME, "password": site.admin_password, "next": "/admin/"}
    assert person.post(f"{site.url}/admin/login/", fields, timeout=60).url == f"{site.url}/admin/"
    return person


def limit(site: Site) -> None:
    """Lets jobs out so slowly that pages are read many times before all have ended."""
    with database_of(site) as database:
        database.execute(f"UPDATE delayhub_biz_type SET delivery_rate = {PER_SECOND} WHERE code = '{CLOSE_ORDER.code}'")
        database.commit()


@contextmanager
def database_of(site: Site) -> Iterator[Any]:
    """A connection to the site's database."""
    url = os.environ.get("DELAYHUB_DATABASE_URL")
    path = site.folder.path / "delayhub.sqlite3"
    with closing(psycopg.connect(url) if url else sqlite3.connect(path, timeout=60)) as database:
        yield database


def asked(site: Site, query: str) -> list[Any]:
    """The rows that the database answers with at this moment."""
    with database_of(site) as database:
        rows: list[Any] = database.execute(query).fetchall()
        return rows


def moment(stored: datetime | str) -> datetime:
    """A time as the database has it: SQLite knows none."""
    return datetime.fromisoformat(stored).replace(tzinfo=UTC) if isinstance(stored, str) else stored


def create_jobs(site: Site) -> datetime:
    """Stores the jobs; when all were stored."""
    api = requests.Session()
    api.headers["Authorization"] = f"Bearer {site.api_key}"
    url = f"{site.url}/api/v1"
    due_at = (now() + timedelta(seconds=2)).isoformat()
    for part in range(JOBS // 500):
        wanted = [
            {"biz_type": CLOSE_ORDER.code, "biz_id": f"order-{part}-{number}", "due_at": due_at}
            for number in range(500)
        ]
        answer = api.post(f"{url}/jobs/bulk", json={"jobs": wanted}, timeout=60)
        assert answer.ok, answer.text
    api.close()
    return now()


def read(name: str, page: str) -> Reading | None:
    """The numbers of a page, added up, and the moment that it names for them.

    None where it shows "at least": where the loader's last count is a minute old, a page counts by itself, but not far.
    """
    text = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
    if re.search(r"(?:Pending|Running) [\d,]+\+", text):
        return None
    moment = re.search(r"(?:counted at|Numbers of the tabs as of) (\d\d:\d\d:\d\d)", text)
    assert moment is not None, f"{name} does not name the moment of its numbers: {text[-3000:]}"
    pending = pending_of(name, page, text)
    running = re.search(r"Running ([\d,]+)", text)
    assert running is not None, text[:3000]
    at = datetime.combine(now().date(), clock.fromisoformat(moment[1]), UTC)
    return Reading(name, at, pending + whole(running[1]))


def pending_of(name: str, page: str, text: str) -> int:
    """How many jobs wait: in the row of the biz type on the overview, else beside the word."""
    if name != "overview":
        found = re.search(r"Pending ([\d,]+)", text)
    else:
        row = page[page.index(f">{CLOSE_ORDER.code}</a></th>") :]
        cell = row[row.index('data-label="pending"') :]
        found = re.search(r">([\d,]+)<", cell)
    assert found is not None, text[:3000]
    return whole(found[1])


def whole(shown: str) -> int:
    """A number as the admin writes it."""
    return int(shown.replace(",", ""))
