"""``manage.py watch_alerts`` watches until it is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.repository import ROOT
from tests.web_server import environment_of, prepare_database


def test_it_watches_until_it_is_stopped(tmp_path: Path) -> None:
    prepare_database(tmp_path)
    command = [sys.executable, str(ROOT / "manage.py"), "watch_alerts"]
    with subprocess.Popen(command, env=environment_of(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "watching for alerts\n"

        process.send_signal(signal.SIGTERM)

        assert process.wait(60) == 0
