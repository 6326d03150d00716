"""The README's examples do what the README says, typed as they stand there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from threading import Timer

import pytest
import requests

from delayhub.demo.receiver import read_received
from delayhub.local.redis_server import RedisServer
from tests.acceptance.site import site_in
from tests.acceptance.typed_commands import DEADLINE_SECONDS, environment, run
from tests.repository import ROOT
from tests.waiting import wait_until

README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_celery_example_closes_one_order_and_not_the_revoked_one(tmp_path: Path, redis_server: RedisServer) -> None:
    [example] = re.findall(r"```python\n(# shop\.py\n.*?)```", README, re.DOTALL)
    [commands] = re.findall(r"```\n(python shop\.py\n.*?)```", README, re.DOTALL)
    create, work = commands.splitlines()
    own = example.replace("127.0.0.1:6379/0", f"127.0.0.1:{redis_server.port}/0")
    assert own != example
    (tmp_path / "shop.py").write_text(own)

    run(create, tmp_path)
    heard = hear(f"{work} --pool solo", tmp_path, until="order-42 is closed")

    assert "order-42 is closed" in heard
    assert "order-41" not in heard


@pytest.mark.slow
def test_the_curl_example_is_called_back_with_a_good_signature(tmp_path: Path) -> None:
    [command] = re.findall(r"```\n(curl .*?)```", README, re.DOTALL)
    words = shlex.split(command)
    given = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    body = json.loads(words[words.index("-d") + 1])
    assert given["Authorization"] == "Bearer $DELAYHUB_KEY"

    with site_in(tmp_path) as site:
        address = words[1].replace("http://127.0.0.1:8000", site.url)
        headers = {**given, "Authorization": f"Bearer {site.api_key}"}
        created = requests.post(address, json={**body, "delay": 1}, headers=headers, timeout=10)
        assert created.status_code == 201, created.text
        wait_until(lambda: any(read_received(site.folder.received)), within_seconds=30, otherwise=site.worker.log_tail)

        [callback] = read_received(site.folder.received)
        assert callback.job_id == created.json()["id"]
        assert callback.biz_type == body["biz_type"]
        assert callback.verified


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
