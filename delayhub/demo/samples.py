"""The biz types that a new site has, and how its receiver answers each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the receiver needs the samples, not an HTTP client
    from delayhub.client import BizType


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleBizType:
    """A biz type of the demo.

    Args:
        code: how callers name it; the receiver takes its callbacks at ``/hooks/<code>``.
        name: how people read it.
        failures: how many callbacks for a job the receiver fails before it accepts one; None: it fails all.
        max_attempts: how often a job is tried.
    """

    code: str
    name: str
    failures: int | None
    max_attempts: int = 5

    @property
    def path(self) -> str:
        """The path of its callbacks."""
        return f"/hooks/{self.code}"

    @property
    def attempts(self) -> int:
        """How many attempts one of its jobs takes until it has succeeded or is dead."""
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


def changed(biz_types: Iterable[BizType], *, now: datetime) -> list[str]:
    """How the API's biz types differ from the samples, a sentence each, as far as the API shows it."""
    there = {biz_type.code: biz_type for biz_type in biz_types}
    found = []
    for sample in SAMPLES:
        biz_type = there.get(sample.code)
        if biz_type is None:
            found.append(f"the biz type {sample.code} is gone")
            continue
        if not biz_type.enabled:
            found.append(f"{sample.code} is disabled")
        # The API shows a pause that is over, too.
        if biz_type.paused_until and biz_type.paused_until > now:
            found.append(f"{sample.code} is paused")
        expected = {"target": "http", "guarantee": "at_least_once", "max_attempts": sample.max_attempts}
        found += [
            f"{sample.code} has {name} {getattr(biz_type, name)}, not {value}"
            for name, value in expected.items()
            if getattr(biz_type, name) != value
        ]
    return found
