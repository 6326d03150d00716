"""A channel for requests of tests: it connects to nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from delayhub.transport.channel import Channel


class Marked(Channel):
    """Keeps what is asked of it."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self.rejected: list[tuple[str, bool]] = []
        self.freed = 0
        self.kept: list[str] = []
        self.later: list[tuple[list[str], int]] = []
        self.early: list[str] = []
        self.counts, self.holds = False, True
        self.book: Any = SimpleNamespace(
            tags={"7": ()},
            release=lambda tags, *, delay_ms: self.later.append((tags, delay_ms)),
            counts=lambda tag: self.counts,
            keep_started=lambda tag: self.kept.append(f"keep {tag}") or self.holds,
            end_started=lambda tag: self.kept.append(f"end {tag}"),
        )

    def acknowledge_early(self, delivery_tag: str, *, is_quick: bool) -> None:
        self.early.append(delivery_tag)

    def note_free_process(self) -> None:
        self.freed += 1

    def mark_process_lost(self, delivery_tag: str) -> None:
        self.lost.append(delivery_tag)

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:
        self.rejected.append((delivery_tag, requeue))
