"""docs/celery.md, walked by a newcomer: its example in an empty folder, its commands one after another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import redis

from delayhub.engine import Counts, DelayQueue, Entry
from delayhub.local.redis_server import RedisServer
from tests.acceptance.typed_commands import run
from tests.repository import ROOT

PAGE = (ROOT / "docs/celery.md").read_text()


@pytest.mark.slow
def test_every_command_of_the_page_does_what_it_says(
    tmp_path: Path, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    [example] = re.findall(r"```python\n(# shop\.py\n.*?)```", PAGE, re.DOTALL)
    own = example.replace("127.0.0.1:6379/0", f"127.0.0.1:{redis_server.port}/0")
    assert own != example
    (tmp_path / "shop.py").write_text(own)
    [publish] = re.findall(r"^python -c .*$", PAGE, re.MULTILINE)
    commands = re.findall(r"^celery -A shop delayhub (.*?)(?:\s+#.*)?$", PAGE, re.MULTILINE)
    queue = DelayQueue(redis_client, "celery")

    run(publish, tmp_path)
    (waiting,) = queue.list("waiting")
    queue.schedule([Entry("broken", payload=b"?")])
    (broken,) = queue.claim(1).entries
    queue.bury([queue.lease(broken.id, broken.token)], reason="unreadable")

    said = {}
    for command in commands:
        verb, *_ = command.split()
        typed = command.replace("[ID …]", broken.id).replace("ID", waiting.id)
        if verb.endswith("-redis"):
            typed += " --dry-run"
        said[verb] = run(f"celery -A shop delayhub {typed}", tmp_path)

    assert list(said) == [
        "counts", "scheduled", "reschedule", "revoke", "dead", "redrive", "check", "import-redis", "export-redis"
    ]  # fmt: skip
    assert said["counts"].split()[-5:] == ["celery", "1", "0", "0", "1"]
    assert waiting.id in said["scheduled"]
    assert "order-42" in said["scheduled"]
    assert "True" in said["reschedule"]
    assert "unreadable" in said["dead"]
    assert "Redis" in said["check"] or "appendonly" in said["check"]
    assert queue.count() == Counts(0, 1, 0, 0)
