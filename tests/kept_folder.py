"""Data folders of sites that are prepared once in a run: the first process that needs one makes it, all get copies.

To prepare one costs 2 s of a core. ``test_demo.py``, the sites on PostgreSQL and those of benchmarks do it themselves,
and the demo's workers check the project when they start.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cached_property
from pathlib import Path

from delayhub.demo.demo import NO_BREAKER
from delayhub.demo.site import Site, SiteOptions
from tests.migrated_file import made_once, put_migrated_file

DATABASE = "delayhub.sqlite3"
#: Where the sample biz types of the folder that is copied are called: nothing listens there.
NOWHERE = "http://127.0.0.1:1/"


#: Keeps a worker of Celery's from importing all that a web server needs, to check it: a third of its start.
UNCHECKED = {"SKIP_CHECKS": "1"}


class PreparedSite(Site):
    """A site that begins, where its database is a file, with a copy of what another one was prepared with."""

    @cached_property
    def environment(self) -> dict[str, str]:
        return {**NO_BREAKER, **super().environment, **UNCHECKED}

    def prepare(self) -> None:
        own_database = "DELAYHUB_DATABASE_URL" in (self.options.settings or {})
        if own_database or not put_kept_folder(self.folder.path, "site", _prepare_site):
            super().prepare()
            return
        with closing(sqlite3.connect(self.folder.path / DATABASE)) as database, database:
            found = database.execute(
                "UPDATE delayhub_biz_type SET url = replace(url, ?, ?)", (NOWHERE, f"{self.receiver_url}/")
            )
            assert found.rowcount > 0


def put_kept_folder(there: Path, name: str, prepare: Callable[[Path], None]) -> bool:
    """Puts a copy of the folder of that name there; whether it did: not outside of a run, nor over a database.

    Args:
        there: the data folder of a site that does not run.
        name: what it is called in this run.
        prepare: makes it, for the first process that asks.
    """

    def make(folder: Path) -> None:
        put_migrated_file(folder)
        prepare(folder)
        with closing(sqlite3.connect(folder / DATABASE)) as database:
            database.execute("PRAGMA journal_mode=DELETE")  # then the file is all of it

    if (there / DATABASE).exists() or (made := made_once(f"{name}.prepared", make)) is None:
        return False
    there.mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in made.iterdir():
        if file.is_file():
            shutil.copy(file, there)
    return True


def _prepare_site(folder: Path) -> None:
    options = SiteOptions(data_dir=folder, receiver_port=1, broker_url="delayhub://127.0.0.1:1/0")
    site = Site(options)
    with site.folder:
        site.prepare()
