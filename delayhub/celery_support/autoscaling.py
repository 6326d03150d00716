"""Celery's autoscaler: how many tasks a worker may run at once, and pools whose size is fixed."""

from __future__ import annotations

from typing import Any


def most_at_once(consumer: Any) -> int:
    """Return how many tasks the worker of a consumer may run at once.

    An autoscaled pool counts as the most that it may grow to: Celery lets it grow only when more tasks are reserved
    than it has processes. The number may change while the worker runs.
    """
    pool, autoscaler = consumer.pool, _autoscaler(consumer)
    if autoscaler is not None:
        return int(autoscaler.max_concurrency) or 1
    # Of a prefork pool only this number changes (`pool_grow`). On some versions, that of gevent says how many run.
    return int(pool.num_processes if getattr(pool, "uses_semaphore", False) else pool.limit) or 1


def keep_fixed_size(consumer: Any) -> str | None:
    """Return a warning if the pool of an autoscaled worker cannot grow, such as threads; the pool then stays as it is.

    Celery's autoscaler would call ``grow``, which such pools do not have, and the worker would end.
    """
    autoscaler = _autoscaler(consumer)
    if autoscaler is None or hasattr(consumer.pool, "grow"):
        return None
    asked, size = autoscaler.max_concurrency, consumer.pool.limit
    autoscaler.max_concurrency = autoscaler.min_concurrency = size
    if asked == size:
        return None
    return (
        f"--autoscale has no effect with this pool, which cannot grow: it runs {size} at once. Use prefork, or write"
        f" -c {asked} to run up to {asked} with threads"
    )


def _autoscaler(consumer: Any) -> Any:
    return getattr(getattr(consumer, "controller", None), "autoscaler", None)
