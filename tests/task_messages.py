"""Task messages, as a worker gets them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def message_of(task: Any, *, headers: dict[str, Any] | None) -> Iterator[None]:
    """While it is open, the task runs a message with these headers (None: it has none)."""
    task.push_request(headers=headers, hostname="w1@here", called_directly=False)
    try:
        yield
    finally:
        task.pop_request()
