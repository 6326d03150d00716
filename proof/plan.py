"""What a history is made of, how it went wrong, and the shortest that goes wrong the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from proof.broken import Broken
from proof.shortest import shortest

Setting = TypeVar("Setting")


@dataclass(frozen=True, slots=True)
class Step:
    """One verb, and the number from which it draws what it does, so that it does the same beside fewer others."""

    verb: str
    number: int


@dataclass(frozen=True)
class Plan(Generic[Setting]):
    """The steps of a history, and what differs between histories from their beginning on."""

    seed: int
    setting: Setting
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Failure(Generic[Setting]):
    """A history that broke a law, and how it went."""

    plan: Plan[Setting]
    broken: Broken
    story: Sequence[str]


def shrunk(failure: Failure[Setting], play: Callable[[Plan[Setting]], Failure[Setting] | None]) -> Failure[Setting]:
    """The shortest history found that breaks the same law: steps are left out as long as it does."""
    found = failure

    def fails(steps: Sequence[Step]) -> bool:
        nonlocal found
        shorter = play(replace(failure.plan, steps=tuple(steps)))
        if shorter is None or shorter.broken.kind != failure.broken.kind:
            return False
        found = shorter
        return True

    shortest(failure.plan.steps, fails)
    return found
