"""The clocks of the product above the engine, all moved by the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from django.utils import timezone

from delayhub.clock import moment
from proof.row_clock import RowClock
from proof.virtual_time import BEGIN_MS
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.models import job_id
from tasksapp.timers import lanes


class Clocks:
    """Shows the time of the history under way, and makes its ids by that."""

    def __init__(self) -> None:
        #: The time of the history, as :class:`proof.virtual_time.VirtualTime` has it.
        self.time: Any = None
        self._made = 0

    @property
    def now_ms(self) -> int:
        """The time, Unix ms."""
        return BEGIN_MS if self.time is None else int(self.time.now_ms)

    def begin(self, time: Any) -> None:
        """Another history begins."""
        self.time, self._made = time, 0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Inside, whatever asks for the time gets this one; ids of jobs count up, so that histories are alike."""
        clock: Any = RowClock(self)
        with (
            patch.object(timezone, "now", lambda: moment(self.now_ms)),
            patch.object(lanes, "_clock", clock),
            patch.object(biz_type_cache, "_clock", clock),
            patch.object(job_id, "_reserve", self._reserve),
            patch.object(job_id, "os", SimpleNamespace(urandom=bytes)),
        ):
            yield

    def _reserve(self, count: int) -> tuple[int, int]:
        first = self._made + 1
        self._made += count
        return self.now_ms, first
