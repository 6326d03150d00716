"""Numbers on the admin's pages while jobs drain: each names its moment, and is what the database had at that moment."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as clock
from html import unescape
from pathlib import Path

import pytest
import requests

from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import ADMIN_NAME, Site
from tests.acceptance.site import now, site_in
from tests.html_form import form_fields
from tests.waiting import wait_until

JOBS, PER_SECOND = 2_000, 125
PAGES = {
    "overview": "/admin/tasksapp/",
    "biz type": "/admin/tasksapp/biztype/{id}/change/",
    "jobs": f"/admin/tasksapp/job/?tab=pending&biz_type={CLOSE_ORDER.code}",
}
#: A moment is shown by the second; and an outcome has its time a while before it is written, on a busy machine too.
SHOWN_BY, WRITTEN_WITHIN = timedelta(seconds=1), timedelta(seconds=3)


@dataclass(frozen=True)
class Reading:
    """What a page said: of which moment, and how many jobs had not ended then."""

    page: str
    at: datetime
    left: int


@pytest.mark.slow
def test_each_number_on_a_page_is_that_of_the_moment_it_names_while_jobs_drain(tmp_path: Path) -> None:
    with site_in(tmp_path) as site:
        database = sqlite3.connect(f"file:{site.folder.path / 'delayhub.sqlite3'}?mode=ro", uri=True)
        (key,) = database.execute("SELECT id FROM delayhub_biz_type WHERE code = ?", [CLOSE_ORDER.code]).fetchone()
        person = signed_in(site)
        wait_until(lambda: first_count(database), otherwise=site.worker.log_tail)
        limit(site)
        created_at = create_jobs(site)

        readings: set[Reading] = set()
        while unended(database):
            for name, path in PAGES.items():
                answer = person.get(site.url + path.format(id=key), timeout=60)
                assert answer.status_code == 200
                readings.add(read(name, answer.text))
        person.close()

        ended = [
            datetime.fromisoformat(at).replace(tzinfo=UTC)
            for (at,) in database.execute("SELECT finished_at FROM delayhub_job")
        ]
        database.close()
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
    with closing(sqlite3.connect(site.folder.path / "delayhub.sqlite3", timeout=60)) as database, database:
        database.execute(
            "UPDATE delayhub_biz_type SET delivery_rate = ? WHERE code = ?", [PER_SECOND, CLOSE_ORDER.code]
        )


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


def first_count(database: sqlite3.Connection) -> bool:
    """Whether the loader has counted: until then pages count themselves."""
    return bool(database.execute("SELECT COUNT(*) FROM delayhub_job_count").fetchone()[0])


def unended(database: sqlite3.Connection) -> int:
    """How many jobs have not ended at this moment."""
    found: int = database.execute("SELECT COUNT(*) FROM delayhub_job WHERE finished_at IS NULL").fetchone()[0]
    return found


def read(name: str, page: str) -> Reading:
    """The numbers of a page, added up, and the moment that it names for them."""
    text = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
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
