"""A story of one thing that is wrong, or is not, turn by turn, and of what is to be said about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tasksapp.alerts.book import AlertBook, What
from tasksapp.alerts.conditions import Condition, Judgement
from tasksapp.models import AlertKind

BEGIN = datetime(2026, 11, 22, 10, tzinfo=UTC)
KINDS = frozenset({AlertKind.REDIS_AWAY})


class Story:
    """One book, turn by turn: ``at(12, wrong=True)`` is what is to be said 12 seconds after the beginning."""

    def __init__(self, kind: AlertKind = AlertKind.REDIS_AWAY, **facts: Any) -> None:
        self.book = AlertBook(using="default")
        self.kind, self.facts = kind, facts

    def at(self, seconds: float, *, wrong: bool, kinds: frozenset[AlertKind] = KINDS) -> list[What]:
        conditions = [Condition(kind=self.kind, facts=self.facts)] if wrong else []
        now = BEGIN + timedelta(seconds=seconds)
        return [event.what for event in self.book.apply(Judgement(conditions=conditions, kinds=kinds), now=now)]
