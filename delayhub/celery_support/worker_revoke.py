"""The worker's commands that revoke tasks, which also act on Redis: who sends them may know nothing of DelayHub."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import redis
from celery.utils.functional import maybe_list
from celery.worker.control import Panel
from kombu.exceptions import KombuError
from kombu.log import get_logger

from delayhub.celery_support.control import Control

logger = get_logger(__name__)

#: Celery's own commands.
CELERYS: dict[str, Callable[..., Any]] = {name: Panel.data[name] for name in ("revoke", "terminate")}


def register() -> None:
    """Makes ours the commands of all workers of this process; an app without our control is served as before."""
    Panel.data.update({name: partial(revoke_for_good, name) for name in CELERYS})


def revoke_for_good(name: str, state: Any, *, task_id: Any, **options: Any) -> Any:
    """Removes the tasks that wait in Redis; then Celery's own command of that name has its turn."""
    control = state.app.control
    failure = None
    if isinstance(control, Control):
        try:
            control.revoke_waiting(list(maybe_list(task_id) or []))
        except (redis.RedisError, KombuError, OSError) as error:
            failure = f"the tasks may still wait in Redis, which did not answer: {error}"
            logger.warning("Revoking %s: %s", task_id, failure, extra={"action": "revoke"})
    answer = CELERYS[name](state, task_id=task_id, **options)
    return {"error": failure} if failure else answer
