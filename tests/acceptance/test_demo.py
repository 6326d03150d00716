"""``make demo`` as a whole, only smaller."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from delayhub.errors import DataFolderInUse
from delayhub.standalone.data_folder import DataFolder
from tests.acceptance.waiting import wait_until

DEMO = [sys.executable, "-m", "delayhub.standalone", "demo", "--jobs", "60", "--seconds", "4"]


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


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_ctrl_c_ends_everything_and_leaves_nothing_running(how: signal.Signals, tmp_path: Path) -> None:
    output = tmp_path / "output"
    with output.open("w") as into:
        up = subprocess.Popen(
            [sys.executable, "-m", "delayhub.standalone", "up", "--data", str(tmp_path / "var")],
            stdout=into,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        wait_until(
            lambda: "Ctrl-C stops everything" in output.read_text() or up.poll() is not None,
            within_seconds=60,
            otherwise=output.read_text,
        )
        assert up.poll() is None, output.read_text()
        with pytest.raises(DataFolderInUse):
            DataFolder(tmp_path / "var").__enter__()

        up.send_signal(how)

        assert up.wait(30) == 0
    finally:
        up.kill()
        up.wait()
    assert output.read_text().endswith("stopped\n")
    with DataFolder(tmp_path / "var"):
        pass
