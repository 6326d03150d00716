"""Which queue a periodic entry publishes to: the lane of that queue keeps its state."""

from __future__ import annotations

from typing import Any


def lane_of(app: Any, entry: Any) -> str:
    """The queue that the entry's message goes to, or the default queue where there are several, or none of ours.

    A wrong guess costs nothing but the one script: see :func:`delayhub.transport.occurrence.put`.
    """
    task = app.tasks.get(entry.task)
    options = {**(task._get_exec_options() if task is not None else {}), **entry.options}
    options = {name: options[name] for name in ("queue", "exchange", "routing_key") if options.get(name) is not None}
    try:
        routed = app.amqp.router.route(options, entry.task, entry.args, entry.kwargs, task)
    except Exception:
        routed = options
    queue, exchange, key = routed.get("queue"), routed.get("exchange"), routed.get("routing_key")
    if exchange:  # which counts, also beside a queue
        bound = [name for name, known in app.amqp.queues.items() if _is_bound(known, exchange, key)]
        return bound[0] if len(bound) == 1 else str(app.conf.task_default_queue)
    if exchange == "" and key:
        return str(key)
    return str(getattr(queue, "name", queue) or app.conf.task_default_queue)


def _is_bound(queue: Any, exchange: Any, key: str | None) -> bool:
    name = getattr(exchange, "name", exchange)
    return queue.exchange is not None and queue.exchange.name == name and queue.routing_key == key
