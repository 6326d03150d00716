"""The biz types of histories, with what their retries have to be by words of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tasksapp.models import BizType

#: Seconds: a row's lease beyond the timeout, and the timeout of a callback. Ms: both together.
LEASE_SECONDS, TIMEOUT_SECONDS = 10.0, 5.0
HELD_MS = int((LEASE_SECONDS + TIMEOUT_SECONDS) * 1000)
#: A job whose workers were lost so often is dead.
MOST_LOST = 3
FOLLOWER = "after"
#: When a job is looked at again that waits for the end of another.
BEHIND_MS = 5000


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A biz type.

    Args:
        code: its code.
        waits: seconds after the first failure, the second, …; there is one attempt more.
        is_once: whether its jobs are called at most once.
        late_ms: from when a job that was never tried is too late; None for never.
        when_late: what it becomes then: ``skipped`` or ``dead``.
        age_ms: how old a job may be; None for any age.
        follows: the ends after which a job of :data:`FOLLOWER` is made.
        at_once: how many may be called at once; None for any number.
        keeps_one: whether only one job of a biz id is live.
        keeps_last: whether only one job of a biz id has begun and has not ended, and only one more waits for that.
        order: whether jobs of a flow key run one after the other: '' for no, ``dead_blocks`` or ``dead_lets_go``.
        hears: whether its jobs wait for an answer, which a job of :data:`FOLLOWER` brings on.
        columns: of its row, beside those that follow from these.
    """

    code: str
    waits: tuple[int, ...]
    is_once: bool = False
    late_ms: int | None = None
    when_late: str = "dead"
    age_ms: int | None = None
    follows: frozenset[str] = frozenset()
    at_once: int | None = None
    keeps_one: bool = False
    keeps_last: bool = False
    order: str = ""
    hears: bool = False
    columns: Mapping[str, Any] = field(default_factory=dict)

    @property
    def most_attempts(self) -> int:
        """Attempts of one budget."""
        return len(self.waits) + 1

    def stored(self) -> BizType:
        """Its row, as it is now in the database."""
        found, _ = BizType.objects.get_or_create(code=self.code, defaults=self._values())
        return found

    def _values(self) -> dict[str, Any]:
        return {
            "url": "https://shop.example/hooks",
            "timeout_seconds": TIMEOUT_SECONDS,
            "jitter": 0,
            "max_attempts": self.most_attempts,
            "guarantee": BizType.Guarantee.AT_MOST_ONCE if self.is_once else BizType.Guarantee.AT_LEAST_ONCE,
            "max_lateness": None if self.late_ms is None else timedelta(milliseconds=self.late_ms),
            "when_late": "fire" if self.late_ms is None else {"skipped": "skip", "dead": "dead"}[self.when_late],
            "max_age": None if self.age_ms is None else timedelta(milliseconds=self.age_ms),
            "on_success": FOLLOWER if "succeeded" in self.follows else "",
            "on_dead": FOLLOWER if "dead" in self.follows else "",
            "on_resolved": FOLLOWER if self.hears else "",
            "max_in_flight": self.at_once,
            "one_live": "refuse" if self.keeps_one else "last" if self.keeps_last else "any",
            "ordered": self.order or "no",
            **self.columns,
        }


KINDS = {
    kind.code: kind
    for kind in (
        Kind(
            code="again", waits=(3, 3), follows=frozenset({"succeeded", "dead"}),
            columns={"backoff": BizType.Backoff.FIXED, "backoff_min_seconds": 3},
        ),
        Kind(
            code="once", waits=(4, 8), is_once=True, follows=frozenset({"dead"}),
            columns={"backoff": BizType.Backoff.LINEAR, "backoff_min_seconds": 4},
        ),
        Kind(
            code="aged", waits=(2, 6, 10, 10), age_ms=60_000, late_ms=20_000, when_late="skipped",
            follows=frozenset({"dead"}),
            columns={"backoff_min_seconds": 2, "backoff_factor": 3, "backoff_max_seconds": 10},
        ),
        Kind(
            code="single", waits=(2, 4), keeps_one=True,
            columns={"backoff": BizType.Backoff.LINEAR, "backoff_min_seconds": 2},
        ),
        Kind(
            code="last", waits=(2, 4), keeps_last=True, late_ms=8_000, when_late="skipped",
            columns={"backoff": BizType.Backoff.LINEAR, "backoff_min_seconds": 2},
        ),
        Kind(
            code="asked", waits=(2,), is_once=True, keeps_one=True, hears=True,
            follows=frozenset({"succeeded", "dead"}),
            columns={"backoff": BizType.Backoff.FIXED, "backoff_min_seconds": 2},
        ),
        Kind(
            code="lined", waits=(2, 4), order="dead_blocks",
            columns={"backoff": BizType.Backoff.LINEAR, "backoff_min_seconds": 2},
        ),
        Kind(
            code="loose", waits=(3,), is_once=True, order="dead_lets_go",
            columns={"backoff": BizType.Backoff.FIXED, "backoff_min_seconds": 3},
        ),
        Kind(
            code="narrow", waits=(1, 20), late_ms=40_000, at_once=1,
            columns={"backoff": BizType.Backoff.LIST, "backoff_list": [1, 20]},
        ),
        Kind(code=FOLLOWER, waits=(5,), columns={"backoff": BizType.Backoff.FIXED, "backoff_min_seconds": 5}),
    )
}  # fmt: skip
