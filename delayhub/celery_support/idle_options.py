"""Options that do nothing where they stand: of tasks on another broker, and of queues on one Redis server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from delayhub.engine.queue_slots import SLOTS_ARGUMENT
from delayhub.redis_cluster.cluster_url import SCHEMES as CLUSTER_SCHEMES

#: Tasks that one sentence names.
MOST_NAMED = 5
#: What a task may say that only our broker acts on.
TASK_OPTIONS = ("unique", "max_in_flight", "key_rate_limit", "key_max_in_flight", "flow_key_by")


def scheme_of(app: Any) -> str:
    """The scheme of an app's broker, such as ``redis``."""
    return str(app.connection_for_write().transport_cls)


def idle_task_options(app: Any, *, scheme: str) -> list[str]:
    """A sentence for each option of the app's tasks that does nothing, since the broker is not DelayHub's.

    Args:
        app: the Celery app.
        scheme: that of its broker.
    """
    if scheme.startswith("delayhub"):
        return []
    return [
        f"{option}= does nothing on {scheme}://, only on delayhub://: {named}"
        for option in TASK_OPTIONS
        if (named := _named(sorted(t.name for t in app.tasks.values() if getattr(t, option, None))))
    ]


def idle_slots(app: Any, *, scheme: str) -> list[str]:
    """A sentence where queues of the app propose slots, which only a Redis Cluster has."""
    if scheme in CLUSTER_SCHEMES:
        return []
    named = _named(sorted(_slotted(app)))
    return [f"{SLOTS_ARGUMENT} does nothing on one Redis server, only on a Redis Cluster: {named}"] if named else []


def _slotted(app: Any) -> Iterator[str]:
    for queue in app.amqp.queues.values():
        if (queue.queue_arguments or {}).get(SLOTS_ARGUMENT, 1) != 1:
            yield queue.name


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
