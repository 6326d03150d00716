"""What the transport asks of whoever runs the messages; Celery's side fills it in, others need not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any


def _utc() -> tzinfo:
    return UTC


def _nothing_runs() -> frozenset[str]:
    return frozenset()


def _nobody_listens(entry_id: str) -> None:
    del entry_id


def _nobody_mourns(message: Any, reason: str) -> None:
    del message, reason


@dataclass(slots=True)
class Hooks:
    """Questions and news between the transport and the one that runs its messages.

    Args:
        naive_zone: tells the time zone of an eta that has none.
        running_tags: delivery tags of messages that are being worked on; they outlive their connection.
        on_revoked: told the id of a message that is about to be delivered although it was revoked.
        on_dead: told the kombu message that is dead because no process survives it, and why.
    """

    naive_zone: Callable[[], tzinfo] = _utc
    running_tags: Callable[[], frozenset[str]] = _nothing_runs
    on_revoked: Callable[[str], None] = _nobody_listens
    on_dead: Callable[[Any, str], None] = _nobody_mourns


#: The hooks of this process.
hooks = Hooks()
