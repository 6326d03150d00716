"""A worker, a producer, remote control and the commands under exactly the access rule that the docs print."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import redis
from celery import Celery
from celery.exceptions import TaskRevokedError

from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker, celery_command
from tests.repository import ROOT

PAGE = (ROOT / "docs/celery/servers.md").read_text()


@pytest.fixture
def env(env: dict[str, str], redis_client: redis.Redis) -> Iterator[dict[str, str]]:
    """The environment of the test project, whose broker URL has the user of the page's rule."""
    [rule] = re.findall(r"^ACL SETUSER .*$", PAGE, re.MULTILINE)
    words = shlex.split(rule)
    user, password = words[2], next(word for word in words if word.startswith(">")).removeprefix(">")
    redis_client.execute_command(*words)
    yield {**env, "BROKER_URL": env["BROKER_URL"].replace("://", f"://{user}:{password}@")}
    redis_client.acl_deluser(user)


@contextmanager
def kinds_of_events(app: Celery) -> Iterator[Callable[[str], bool]]:
    """Reads the app's events; says whether one of a kind came within ten seconds."""
    seen: set[str] = set()
    with app.connection_for_read() as first:
        receiver = app.events.Receiver(first, handlers={"*": lambda event: seen.add(event["type"])})
        with receiver.consumer_context() as (connection, *_):

            def comes(kind: str) -> bool:
                deadline = time.monotonic() + 10
                while kind not in seen and time.monotonic() < deadline:
                    with suppress(TimeoutError):
                        connection.drain_events(timeout=0.5)
                return kind in seen

            yield comes


@pytest.mark.slow
def test_all_that_a_project_does_works_under_the_documented_rule(
    proj: Any, env: dict[str, str], worker: Callable[..., CeleryWorker], redis_client: redis.Redis
) -> None:
    running = worker("threads", EVENTS="1")
    running.command.remove("--without-mingle")  # with it, a worker asks the others for their clocks before it is ready

    with running, kinds_of_events(proj.app) as comes:
        assert comes("worker-heartbeat"), running.log
        assert proj.add.delay(2, 3).get(timeout=60) == 5, running.log
        delayed = proj.run.apply_async(countdown=0.3)
        revoked = proj.run.apply_async(countdown=1000)
        proj.app.control.revoke(revoked.id)
        with pytest.raises(TaskRevokedError):
            revoked.get(timeout=60)
        assert delayed.get(timeout=60) == delayed.id
        assert comes("task-succeeded")
        assert "pong" in celery_command(env, "inspect", "ping", "--timeout", "5")
        assert "celery" in celery_command(env, "inspect", "active_queues", "--timeout", "5")
        counts = celery_command(env, "delayhub", "counts")
        check = celery_command(env, "delayhub", "check")
        again = proj.add.delay(2, 4)
        assert again.get(timeout=60) == 6, running.log

    assert ledger.task_ids(proj) == [delayed.id]
    assert counts.split()[-6:] == ["celery", "0", "0", "0", "0", "0"]
    assert "messages of kombu's own transport were not looked for" in check
    assert "NOPERM" not in running.log
    assert "No permissions" not in running.log
