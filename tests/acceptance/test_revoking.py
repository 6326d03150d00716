"""Tasks that wait in Redis are revoked for good, whichever way Celery has for it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from celery import Celery, chord
from celery.exceptions import TaskRevokedError

from delayhub.engine import Counts, DelayQueue
from delayhub.local.redis_server import RedisServer
from tests.acceptance import ledger
from tests.acceptance.celery_worker import CeleryWorker, celery_command
from tests.waiting import wait_until


@pytest.mark.slow
@pytest.mark.parametrize("command", [["revoke"], ["terminate", "SIGTERM"]])
def test_the_command_line_revokes_a_waiting_task_without_a_worker(
    command: list[str], proj: Any, env: dict[str, str], redis_client: redis.Redis
) -> None:
    waiting = proj.run.apply_async(countdown=1000)

    said = celery_command(env, "control", *command, waiting.id)

    assert DelayQueue(redis_client, "celery").count() == Counts(0, 0, 0, 0)
    assert "1 waiting tasks revoked in Redis; no worker answered" in said
    assert waiting.state == "REVOKED"


@pytest.mark.slow
def test_a_worker_removes_what_another_program_asks_it_to_revoke(
    proj: Any, worker: Callable[..., CeleryWorker], redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    stranger = Celery("stranger", broker=redis_server.url, set_as_current=False)  # it knows nothing of DelayHub
    queue = DelayQueue(redis_client, "celery")
    late = proj.add.s(2, 2).set(countdown=1000)
    with worker("threads") as running:
        result = chord([proj.add.s(1, 1), late], proj.total.s()).apply_async()
        wait_until(lambda: queue.count() == Counts(1, 0, 0, 0), otherwise=lambda: f"one that waits: {running.log}")
        (member,) = proj.app.control.scheduled()
        stranger.control.broadcast("revoke", arguments={"task_id": [member.id]})

        with pytest.raises(TaskRevokedError):
            result.get(timeout=60, disable_sync_subtasks=False)
        assert queue.count() == Counts(0, 0, 0, 0)
        second = proj.run.apply_async(countdown=1000)
        stranger.control.terminate([second.id])
        wait_until(lambda: queue.count() == Counts(0, 0, 0, 0), otherwise=lambda: f"no second task: {running.log}")

    assert ledger.task_ids(proj) == []
    stranger.close()


@pytest.mark.slow
def test_tasks_are_revoked_by_their_stamps_without_a_worker(
    proj: Any, env: dict[str, str], redis_client: redis.Redis
) -> None:
    def stamped(**stamps: Any) -> Any:
        signature = proj.run.s()
        signature.stamp(**stamps)
        return signature.apply_async(countdown=1000)

    one, two, other = stamped(order="o-1"), stamped(order=["o-2", "o-3"]), stamped(order="o-9")
    plain = proj.run.apply_async(countdown=1000)

    proj.app.control.revoke_by_stamped_headers({"order": ["o-1"]})
    assert {task.id for task in proj.app.control.scheduled()} == {two.id, other.id, plain.id}
    celery_command(env, "control", "revoke_by_stamped_headers", "order=o-3")
    assert {task.id for task in proj.app.control.scheduled()} == {other.id, plain.id}
    assert (one.state, two.state) == ("REVOKED", "REVOKED")
