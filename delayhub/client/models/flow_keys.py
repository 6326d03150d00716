"""Flow keys: whose jobs wait in a biz type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class FlowKey:
    """A flow key, and how many of its jobs are due or will be within the near window."""

    flow_key: str
    #: Jobs that have a timer, due or not.
    waiting: int
    #: Those that are due, and that no worker has.
    due: int
    #: Counted only where keys have a limit of it.
    in_flight: int
    #: None: it is not paused.
    paused_until: datetime | None


@dataclass(frozen=True, kw_only=True)
class FlowKeys:
    """The flow keys with most jobs that wait, and those that are paused."""

    flow_keys: Sequence[FlowKey]
    #: Whether all keys were counted: only the next 1 000 of the line are.
    is_whole: bool
    #: All paused keys.
    paused: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class PausedFlowKey:
    """A flow key, and whether it is paused."""

    flow_key: str
    #: None: it is not paused.
    paused_until: datetime | None
