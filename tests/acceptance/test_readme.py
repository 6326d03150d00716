"""The README's Celery example does what the README says, typed as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

from delayhub.standalone.redis_server import RedisServer

ROOT = Path(__file__).parents[2]
DEADLINE_SECONDS = 60


@pytest.mark.slow
def test_the_celery_example_closes_one_order_and_not_the_revoked_one(tmp_path: Path, redis_server: RedisServer) -> None:
    readme = (ROOT / "README.md").read_text()
    [example] = re.findall(r"```python\n(# shop\.py\n.*?)```", readme, re.DOTALL)
    [commands] = re.findall(r"```\n(python shop\.py\n.*?)```", readme, re.DOTALL)
    create, work = commands.splitlines()
    own = example.replace("127.0.0.1:6379/0", f"127.0.0.1:{redis_server.port}/0")
    assert own != example
    (tmp_path / "shop.py").write_text(own)

    run(create, tmp_path)
    heard = hear(f"{work} --pool solo", tmp_path, until="order-42 is closed")

    assert "order-42 is closed" in heard
    assert "order-41" not in heard


def environment() -> dict[str, str]:
    # Celery sets Django up where that variable names its settings, and the tests' own run sets it.
    own = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    own["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), own["PATH"]])
    return {**own, "PYTHONUNBUFFERED": "1"}


def run(command: str, folder: Path) -> None:
    subprocess.run(command.split(), cwd=folder, env=environment(), check=True, timeout=DEADLINE_SECONDS)


def hear(command: str, folder: Path, *, until: str) -> str:
    """What a command says up to a certain line; it is ended then, or at the deadline."""
    process = subprocess.Popen(
        command.split(),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = Timer(DEADLINE_SECONDS, process.kill)
    deadline.start()
    heard: list[str] = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            heard.append(line)
            if until in line:
                process.terminate()
                break
        heard.append(process.stdout.read())
    deadline.cancel()
    return "".join(heard)
