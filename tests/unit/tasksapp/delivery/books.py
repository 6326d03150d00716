"""What an outcome writer wrote, renewed, and could not write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcome_writer import OutcomeWriter
from tasksapp.delivery.outcomes import CallbackResult
from tests.callbacks import CLOCK


@dataclass
class Books:
    """What the writer wrote."""

    results: list[CallbackResult] = field(default_factory=list)
    renewals: int = 0
    refusals: int = 0
    poison: str = ""

    def write(self, results: Sequence[CallbackResult]) -> None:
        if any(result.callback.job_id == self.poison for result in results):
            raise OverflowError("this outcome cannot be written")
        if self.refusals:
            self.refusals -= 1
            raise RuntimeError("the database is away")
        self.results += results

    def renew(self, callbacks: Sequence[Callback]) -> None:
        self.renewals += len(callbacks)

    def outcome_of(self, one: Callback) -> object:
        return next(result.outcome for result in self.results if result.callback is one)

    def writer(self, *, flush_size: int = 10, flush_seconds: float = 0.001, renew_seconds: float = 20) -> OutcomeWriter:
        """A writer that writes here."""
        return OutcomeWriter(
            write=self.write,
            renew=self.renew,
            close=lambda: None,
            clock=CLOCK,
            flush_size=flush_size,
            flush_seconds=flush_seconds,
            renew_seconds=renew_seconds,
        )
