"""The biz types that a site begins with, and how its receiver treats each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleBizType:
    """A biz type of the demo.

    Args:
        code: what callers name it by; the receiver takes its callbacks at ``/hooks/<code>``.
        name: what people read.
        failures: how often the receiver fails for each job before it takes it; None: always.
        max_attempts: how often a job is tried.
    """

    code: str
    name: str
    failures: int | None
    max_attempts: int = 5

    @property
    def path(self) -> str:
        """Where the receiver takes its callbacks."""
        return f"/hooks/{self.code}"

    @property
    def attempts(self) -> int:
        """How many attempts a job of it takes until it has succeeded or is dead."""
        return self.max_attempts if self.failures is None else min(self.failures + 1, self.max_attempts)

    @property
    def succeeds(self) -> bool:
        """Whether its jobs succeed in the end."""
        return self.failures is not None and self.failures < self.max_attempts


CLOSE_ORDER = SampleBizType(code="order.close", name="Close an unpaid order", failures=0)
SEND_REMINDER = SampleBizType(code="reminder.send", name="Send a reminder; its receiver fails twice", failures=2)
PUSH_INVOICE = SampleBizType(
    code="invoice.push", name="Push an invoice; its receiver always fails", failures=None, max_attempts=3
)

SAMPLES = (CLOSE_ORDER, SEND_REMINDER, PUSH_INVOICE)
#: Seconds between the attempts of a sample's job: short, so that the demo is over soon.
SAMPLE_BACKOFF_SECONDS = 1.0


def changed(rows: Iterable[Mapping[str, Any]], *, now: datetime) -> list[str]:
    """In what the API's biz types differ from the samples, a sentence each, as far as the API shows it."""
    there = {row["code"]: row for row in rows}
    found = []
    for sample in SAMPLES:
        row = there.get(sample.code)
        if row is None:
            found.append(f"the biz type {sample.code} is gone")
            continue
        if not row["enabled"]:
            found.append(f"{sample.code} is disabled")
        # A pause that is over is shown all the same.
        if row["paused_until"] and datetime.fromisoformat(row["paused_until"]) > now:
            found.append(f"{sample.code} is paused")
        expected = {"target": "http", "guarantee": "at_least_once", "max_attempts": sample.max_attempts}
        found += [
            f"{sample.code} has {name} {row[name]}, not {value}"
            for name, value in expected.items()
            if row[name] != value
        ]
    return found
