"""What differs between histories, what is known of a job by what callers were told, and what a verb may change."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proof.jobs.kinds import KINDS
from proof.jobs.oracle import Fate
from proof.jobs.rows import Row
from proof.jobs.themes import Theme


@dataclass(frozen=True)
class Setting:
    """What differs between histories from their beginning on.

    Args:
        has_loader: whether there is a loader before the drain.
        troubles: of all verbs, how many have a trouble on the wire.
        goes_back: whether Redis may go back to an earlier state.
        most_live: with so many live jobs, no more are created; with few, verbs meet on one.
        most_open: callbacks that a worker has open at once.
        kinds: the codes of its biz types.
        ends: of all requests, how many have an end.
        debounced: of all requests, how many have a debounce key.
        says: what receivers answer half of the time; '' for nothing in particular.
        longest_ms: about the longest that time passes for no reason; 0 for any time.
    """

    has_loader: bool
    troubles: float
    goes_back: bool
    most_live: int
    most_open: int
    kinds: tuple[str, ...]
    ends: float = 0.15
    debounced: float = 0.2
    says: str = ""
    longest_ms: int = 0

    @classmethod
    def drawn(cls, chance: random.Random, theme: Theme | None) -> Setting:
        """One of them."""
        codes = list(KINDS)
        found = cls(
            has_loader=chance.random() < 0.5,
            troubles=chance.choice([0.0, 0.1, 0.3]),
            goes_back=chance.random() < 0.5,
            most_live=chance.choice([1, 2, 8]),
            most_open=chance.choice([1, 100]),
            kinds=tuple(codes if chance.random() < 0.3 else chance.sample(codes, chance.choice([1, 2]))),
        )
        return found if theme is None else replace(found, kinds=theme.kinds, **theme.setting)


@dataclass
class Fact:
    """What callers were told of a job, and what its receiver has seen.

    Args:
        barred: why no callback of it may begin any more; '' where one may.
        allowed: the lease by which one may all the same: it ran when that was said.
        calls: callbacks that have begun since it was last redriven.
        answers: by lease, what the receiver said.
        tried: attempts whose outcomes were written.
        has_begun: whether it has run.
    """

    barred: str = ""
    allowed: int | None = None
    calls: int = 0
    answers: dict[int, str] = field(default_factory=dict)
    tried: int = 0
    has_begun: bool = False


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a verb may change.

    Args:
        fates: by job, what it may become.
        new: what is wrong with a new row that follows no job; None: there may be none.
        is_sure: whether all of it has to have happened.
        may_stay: jobs that may be as they were all the same.
        puts_timers: whether timers are exactly where rows want them, and no worker holds one, where Redis answered.
        sets_timers: whether each job that is pending now got a timer, where it needs one and Redis answered.
    """

    fates: Mapping[str, Sequence[Fate]] = field(default_factory=dict)
    new: Callable[[Row], str] | None = None
    is_sure: bool = False
    may_stay: frozenset[str] = frozenset()
    puts_timers: bool = False
    sets_timers: bool = True


NOTHING = Expected()
