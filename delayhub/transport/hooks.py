"""What the transport asks and reports to the program that runs its messages; Celery's side fills it in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any


def _utc() -> tzinfo:
    return UTC


def _no_running_tags() -> frozenset[str]:
    return frozenset()


def _ignore_revoked(task_id: str) -> None:
    del task_id


def _ignore_dead(message: Any, reason: str) -> None:
    del message, reason


@dataclass(slots=True)
class Hooks:
    """Questions and reports of the transport. Without a program that fills them in, the defaults do nothing.

    Args:
        naive_zone: gives the time zone of an eta that has none.
        running_tags: gives the delivery tags of messages that are being worked on; they outlive their connection.
        on_revoked: gets the id of a message that is about to be delivered although it was revoked.
        on_dead: gets the kombu message that is about to be dead since no process survives it, and the reason.
    """

    naive_zone: Callable[[], tzinfo] = _utc
    running_tags: Callable[[], frozenset[str]] = _no_running_tags
    on_revoked: Callable[[str], None] = _ignore_revoked
    on_dead: Callable[[Any, str], None] = _ignore_dead


#: The hooks of this process.
hooks = Hooks()
