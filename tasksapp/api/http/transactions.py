"""Views outside of ``ATOMIC_REQUESTS``: each verb has a transaction of its own, and arms timers when that commits."""

from __future__ import annotations

from typing import Any

from django.db import connections, transaction


def outside(view: Any) -> Any:
    """The view, outside of ``ATOMIC_REQUESTS`` on every database: a router may put jobs on any one of them."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view
