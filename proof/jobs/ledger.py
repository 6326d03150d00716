"""What differs between histories, what is known of a job by what callers were told, and what a verb may change."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proof.jobs.kinds import KINDS
from proof.jobs.oracle import Fate
from proof.jobs.rows import Row


@dataclass(frozen=True)
class Setting:
    """What differs between histories from their beginning on."""

    has_loader: bool
    troubles: float
    goes_back: bool
    most_live: int
    most_open: int
    kinds: tuple[str, ...]

    @classmethod
    def drawn(cls, chance: random.Random) -> Setting:
        """One of them."""
        codes = list(KINDS)
        return cls(
            has_loader=chance.random() < 0.5,
            troubles=chance.choice([0.0, 0.1, 0.3]),
            goes_back=chance.random() < 0.5,
            most_live=chance.choice([1, 2, 8]),  # with few, verbs meet on one job
            most_open=chance.choice([1, 100]),
            kinds=tuple(codes if chance.random() < 0.3 else chance.sample(codes, chance.choice([1, 2]))),
        )


@dataclass
class Fact:
    """What callers were told of a job, and what its receiver has seen.

    Args:
        barred: why no callback of it may begin any more; '' where one may.
        allowed: the lease by which one may all the same: it ran when that was said.
        calls: callbacks that have begun since it was last redriven.
        answers: by lease, what the receiver said.
        tried: attempts whose outcomes were written.
    """

    barred: str = ""
    allowed: int | None = None
    calls: int = 0
    answers: dict[int, str] = field(default_factory=dict)
    tried: int = 0


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a verb may change.

    Args:
        fates: by job, what it may become.
        new: what is wrong with a new row that follows no job; None: there may be none.
        is_sure: whether all of it has to have happened.
        may_stay: jobs that may be as they were all the same.
        sets_timers: whether each job that is pending now got a timer, where it needs one and Redis answered.
    """

    fates: Mapping[str, Sequence[Fate]] = field(default_factory=dict)
    new: Callable[[Row], str] | None = None
    is_sure: bool = False
    may_stay: frozenset[str] = frozenset()
    sets_timers: bool = True


NOTHING = Expected()
