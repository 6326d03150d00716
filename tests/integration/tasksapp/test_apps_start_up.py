"""What ``django.setup()`` loads: every command, web process and worker pays for it at each start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: What serves some request, sends a callback or starts a service, and is loaded by that.
NOT_AT_START = {
    "aiohttp",
    "drf_spectacular",
    "granian",
    "httpx",
    "prometheus_client",
    "psycopg",
    "standardwebhooks",
    "uvloop",
}
SET_UP = "import sys, django; django.setup(); print(*sys.modules)"


def test_what_only_some_processes_need_is_not_loaded_when_django_is_set_up(tmp_path: Path) -> None:
    environment = {"DJANGO_SETTINGS_MODULE": "delayhub.project.settings", "DELAYHUB_DATA_DIR": str(tmp_path)}

    said = subprocess.run(
        [sys.executable, "-c", SET_UP],
        env={**environment, "DELAYHUB_DEBUG": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    loaded = {name.partition(".")[0] for name in said.stdout.split()}
    assert {"django", "tasksapp"} <= loaded
    assert loaded & NOT_AT_START == set()
