"""ShareLimits: what a worker does so that the limits of its tasks hold over all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from celery import bootsteps
from celery.exceptions import WorkerShutdown
from celery.platforms import EX_FAILURE
from celery.worker import state
from kombu.log import get_logger

from delayhub.celery_support.autoscaling import most_at_once
from delayhub.celery_support.flow_key import declared_by
from delayhub.celery_support.task_limits import at_once_of, declare, faulty_limits
from delayhub.engine import DelayQueue
from delayhub.engine.task_name import KEY_MARK
from delayhub.errors import OptionError
from delayhub.transport.timer_queue import TASK_ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from celery import Celery

    from delayhub.engine.limits import Limit
    from delayhub.transport.hooks import Hooks

logger = get_logger(__name__)


class ShareLimits(bootsteps.Step):
    """Lets limits hold over all workers: a worker declares those of its tasks on each queue that it begins to consume.

    Celery's own limits, which are for one worker each, are off then.
    """

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        app = parent.app
        connection = app.connection_for_read()
        if not str(connection.transport_cls).startswith("delayhub"):
            return
        wants_limits, parent.disable_rate_limits = not parent.disable_rate_limits, True
        # Read now: Celery's own command changes the attribute, and what it says is no declaration.
        try:
            declared, at_once = _declared(app.tasks.values(), rates=wants_limits)
        except OptionError as error:
            logger.critical("This worker does not start: %s", error, extra={"action": "startup"})
            raise WorkerShutdown(EX_FAILURE) from error
        hooks = hooks_of_app(app)

        def free_processes() -> int:
            if cast("bool | int | None", state.should_terminate):  # the loop may turn once more, its pool is gone
                return 0
            return max(0, most_at_once(parent) - len(state.reserved_requests))

        def on_consume(queue: DelayQueue) -> None:
            known = app.amqp.queues.get(queue.name)
            if known is not None and TASK_ARGUMENT not in (known.queue_arguments or {}):
                declare(queue, declared, at_once)

        hooks.free_processes, hooks.on_consume = free_processes, on_consume


def _declared(tasks: Iterable[Any], *, rates: bool) -> tuple[dict[str, Any], dict[str, Limit | None]]:
    """The rates of tasks and of their flow keys, by name, and how many of each may run at once. Raises OptionError."""
    found: dict[str, Any] = {}
    at_once: dict[str, Limit | None] = {}
    for task in tasks:
        declared_by(task)
        for fault in faulty_limits(task, rates=rates):
            raise OptionError(fault)
        found[task.name] = task.rate_limit if rates else None
        found[task.name + KEY_MARK] = getattr(task, "key_rate_limit", None) if rates else None
        at_once[task.name] = at_once_of(task)
        at_once[task.name + KEY_MARK] = at_once_of(task, "key_max_in_flight")
    return found, at_once


def hooks_of_app(app: Celery) -> Hooks:
    """The transport's hooks of an app that DelayHub is installed in."""
    return cast("Hooks", vars(app)["_connection"].hooks)
