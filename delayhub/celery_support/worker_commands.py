"""The worker's commands that act on Redis too, for all workers: who sends them may know nothing of DelayHub."""

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
from delayhub.errors import DelayHubError

logger = get_logger(__name__)

#: Celery's own commands.
CELERYS: dict[str, Callable[..., Any]] = {name: Panel.data[name] for name in ("revoke", "terminate", "rate_limit")}


def register() -> None:
    """Makes ours the commands of all workers of this process; an app without our control is served as before."""
    Panel.data.update({name: partial(revoke_for_good, name) for name in ("revoke", "terminate")})
    Panel.data["rate_limit"] = rate_limit_for_all


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


def rate_limit_for_all(
    state: Any, task_name: str, rate_limit: Any, *, is_set: bool = False, set_by: str = "", **options: Any
) -> Any:
    """Sets the limit in Redis, unless the sender has done so; then Celery's own command has its turn."""
    control = state.app.control
    if isinstance(control, Control) and not is_set:
        try:
            control.set_rate_limit(task_name, rate_limit, by=set_by or f"a program, through {state.hostname}")
        except (redis.RedisError, KombuError, OSError, DelayHubError, ValueError) as error:
            logger.warning("rate_limit of %s: %s", task_name, error, extra={"action": "rate_limit"})
            return {"error": f"the limit was not set: {error}"}
    return CELERYS["rate_limit"](state, task_name, rate_limit, **options)
