"""The worker's command ``rate_limit``, which acts on all workers: who sends it may know nothing of DelayHub."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis
from celery.worker.control import Panel
from kombu.exceptions import KombuError
from kombu.log import get_logger

from delayhub.celery_support.control import Control
from delayhub.errors import DelayHubError

logger = get_logger(__name__)

#: Celery's own command.
CELERYS: Callable[..., Any] = Panel.data["rate_limit"]


def register() -> None:
    """Makes ours the command of all workers of this process; an app without our control is served as before."""
    Panel.data["rate_limit"] = rate_limit_for_all


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
    return CELERYS(state, task_name, rate_limit, **options)
