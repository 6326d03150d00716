"""``make demo`` as a whole, only smaller."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from delayhub.demo.site import SiteOptions
from delayhub.errors import DataFolderInUse
from delayhub.local.data_folder import DataFolder
from tests.kept_folder import PreparedSite
from tests.migrated_file import put_migrated_file
from tests.waiting import wait_until

DEMO = [sys.executable, "-m", "delayhub.cli", "demo", "--jobs", "60", "--seconds", "4"]


def test_every_job_of_the_demo_ends_as_it_must(tmp_path: Path) -> None:
    done = subprocess.run([*DEMO, "--data", str(tmp_path)], capture_output=True, text=True, timeout=110, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    table = dict(re.findall(r"│ ([\w ,]+?) +│ +(\d+) │", done.stdout))
    assert {name: int(table[name]) for name in ("jobs", "delivered", "retried", "dead", "early")} == {
        "jobs": 60,
        "delivered": 48,
        "retried": 24,
        "dead": 6,
        "early": 0,
    }
    # Nothing is left behind that holds the folder.
    with DataFolder(tmp_path):
        pass


@pytest.mark.nightly  # by day: tests/unit/delayhub/demo/test_demo.py
def test_a_sample_that_was_paused_in_the_admin_is_named(tmp_path: Path) -> None:
    site = PreparedSite(SiteOptions(data_dir=tmp_path))
    with site.folder:
        site.prepare()
    with closing(sqlite3.connect(tmp_path / "delayhub.sqlite3")) as database:
        database.execute("UPDATE delayhub_biz_type SET paused_until = '9999-12-31' WHERE code = 'order.close'")
        database.execute("UPDATE delayhub_biz_type SET max_attempts = 7 WHERE code = 'invoice.push'")
        database.commit()

    done = subprocess.run([*DEMO, "--data", str(tmp_path)], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 1
    assert "order.close is paused; invoice.push has max_attempts 7, not 3: change that back" in done.stderr
    assert "Traceback" not in done.stderr


class Up:
    """A site that ``up`` started, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "var"
        self._output = folder / "output"
        put_migrated_file(self.data)
        with self._output.open("w") as output:
            command = [sys.executable, "-m", "delayhub.cli", "up", "--data", str(self.data)]
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def said(self) -> str:
        return self._output.read_text()

    def wait_until_up(self) -> None:
        wait_until(
            lambda: "Ctrl-C stops everything" in self.said() or self.process.poll() is not None,
            otherwise=self.said,
        )
        assert self.process.poll() is None, self.said()

    def worker(self) -> psutil.Process:
        [worker] = [child for child in psutil.Process(self.process.pid).children() if "celery" in child.cmdline()]
        return worker


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    site = Up(tmp_path)
    try:
        site.wait_until_up()
        yield site
    finally:
        if site.process.poll() is None:
            site.process.terminate()
            site.process.wait(60)


def test_a_ctrl_c_ends_everything_and_leaves_nothing_running(up: Up) -> None:
    with pytest.raises(DataFolderInUse):
        DataFolder(up.data).__enter__()

    up.process.send_signal(signal.SIGINT)

    assert up.process.wait(60) == 0
    assert up.said().endswith("stopped\n")
    with DataFolder(up.data):  # its lock is free again
        pass


@pytest.mark.nightly  # by day: tests/integration/delayhub/local/test_parent_death.py
def test_a_kill_leaves_nothing_running(up: Up) -> None:
    services = psutil.Process(up.process.pid).children(recursive=True)
    assert len(services) >= 4

    up.process.kill()

    _, alive = psutil.wait_procs(services, timeout=60)
    assert alive == []
    with DataFolder(up.data):
        pass


@pytest.mark.nightly  # by day: tests/integration/delayhub/local/test_service.py
def test_a_service_that_dies_ends_the_site_with_a_sentence_and_its_log(up: Up) -> None:
    up.worker().kill()

    assert up.process.wait(60) == 1
    assert "the worker ended with exit code -9; its log ends:" in up.said()
    assert up.said().rpartition("its log ends:")[2].strip()
    assert "Traceback" not in up.said()
    with DataFolder(up.data):
        pass
