"""What is wrong at one moment, and what could be judged at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tasksapp.models import AlertKind

#: A fault is told when it has lasted for so long, or nearly: watchers look every three seconds.
CONFIRM = timedelta(seconds=9)
#: For so long after Redis or the database came back, missing workers are given time to come back too.
AFTER_OUTAGE, CONFIRM_AFTER_OUTAGE = timedelta(seconds=60), timedelta(seconds=45)


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One thing that is wrong.

    Args:
        kind: what it is.
        biz_type_id: whose; 0 for the whole site.
        facts: what its sentence says, as JSON.
        confirm: how long it must last before its owner is told.
    """

    kind: AlertKind
    biz_type_id: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)
    confirm: timedelta = CONFIRM

    @property
    def key(self) -> tuple[str, int]:
        """What only one open alert has."""
        return self.kind.value, self.biz_type_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """All that is wrong at one moment.

    Args:
        conditions: what is wrong.
        kinds: what could be judged; alerts of other kinds stay as they are.
    """

    conditions: Sequence[Condition] = ()
    kinds: frozenset[AlertKind] = frozenset()
