"""The pages of Celery, walked by a newcomer: the example in an empty folder, the commands one after another."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.local.redis_server import RedisServer, free_port
from tests.acceptance.typed_commands import environment, run
from tests.acceptance.warm_python import WarmPython
from tests.repository import ROOT
from tests.waiting import wait_until

PAGE = (ROOT / "docs/celery/broker.md").read_text()
LOOKING = (ROOT / "docs/celery/looking.md").read_text()
AUTOSCALING = (ROOT / "docs/celery/autoscaling.md").read_text()


@pytest.mark.slow
def test_every_command_of_the_page_does_what_it_says(
    tmp_path: Path, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    [example] = re.findall(r"```python\n(# shop\.py\n.*?)```", PAGE, re.DOTALL)
    own = example.replace("127.0.0.1:6379/0", f"127.0.0.1:{redis_server.port}/0")
    assert own != example
    (tmp_path / "shop.py").write_text(own)
    [publish] = re.findall(r"^python -c .*$", PAGE, re.MULTILINE)
    commands = re.findall(r"^celery -A shop delayhub (.*?)(?:\s+#.*)?$", LOOKING, re.MULTILINE)
    queue = DelayQueue(redis_client, "celery")

    run(publish, tmp_path)
    (waiting,) = queue.list("waiting")
    queue.schedule([Entry("broken", payload=b"?")])
    (broken,) = queue.claim(1).entries
    queue.bury([queue.lease(broken.id, broken.token)], reason="unreadable")

    said = {}
    with WarmPython() as python:
        for command in commands:
            verb, *_ = command.split()
            typed = command.replace("[ID …]", broken.id).replace("ID", waiting.id)
            if verb.endswith("-redis"):
                typed += " --dry-run"
            said[verb] = python.typed(f"celery -A shop delayhub {typed}", folder=tmp_path)

    assert list(said) == [
        "counts", "limits", "flow-keys", "unique", "backlog", "scheduled", "show", "reschedule", "revoke", "schedules",
        "dead", "redrive", "check", "import-redis", "export-redis",
    ]  # fmt: skip
    assert said["backlog"].split()[-8:] == ["celery", "1", "0", "0", "1", "0.0", "0", "0"]
    assert said["counts"].split()[-6:] == ["celery", "1", "0", "0", "1", "0"]
    assert waiting.id in said["scheduled"]
    assert "order-42" in said["scheduled"]
    assert re.search(r"^place +waiting$", said["show"], re.MULTILINE)
    assert "order-42" in said["show"]
    assert "True" in said["reschedule"]
    assert "unreadable" in said["dead"]
    assert "Redis" in said["check"] or "appendonly" in said["check"]
    assert queue.count() == Counts(0, 1, 0, 0)


@pytest.mark.slow
@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_autoscalers_and_prometheus_read_what_the_page_says(
    tmp_path: Path, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    [example] = re.findall(r"```python\n(# shop\.py\n.*?)```", PAGE, re.DOTALL)
    (tmp_path / "shop.py").write_text(example.replace("127.0.0.1:6379/0", f"127.0.0.1:{redis_server.port}/0"))
    [publish] = re.findall(r"^python -c .*$", PAGE, re.MULTILINE)
    [listed] = re.findall(r"^\$ (celery .*)$", AUTOSCALING, re.MULTILINE)
    [sample] = re.findall(r"^\[\{.*\}\]$", AUTOSCALING, re.MULTILINE)
    [serve] = re.findall(r"^celery -A shop delayhub exporter .*$", AUTOSCALING, re.MULTILINE)
    [path] = re.findall(r'url: "http://[^/]+(/.*)"', AUTOSCALING)
    [location] = re.findall(r'valueLocation: "(.*)"', AUTOSCALING)
    run(publish, tmp_path)
    run(publish.replace(", countdown=1800", ""), tmp_path)

    [row] = json.loads(run(listed, tmp_path))
    assert row.keys() == json.loads(sample)[0].keys()
    assert (row["waiting"], row["due"]) == (1, 1)
    port = free_port()
    words = shlex.split(serve.replace("9540", str(port)))
    with served(words, tmp_path, f"http://127.0.0.1:{port}") as page:
        assert json.loads(page(path))[location] == 1
        metrics = page("/metrics")
    for name in re.findall(r"`(delayhub_queue_\w+)`", AUTOSCALING):
        assert f'{name}{{queue="celery"}}' in metrics


@contextmanager
def served(command: list[str], folder: Path, address: str) -> Iterator[Callable[[str], str]]:
    """A command that serves pages until Ctrl-C; gets them."""

    def page(path: str) -> str:
        with urllib.request.urlopen(address + path, timeout=60) as answer:
            text: str = answer.read().decode()
            return text

    def is_up() -> bool:
        try:
            return bool(page("/queues"))
        except OSError:
            return False

    process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE)
    try:
        wait_until(is_up, otherwise="the exporter")
        yield page
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()
