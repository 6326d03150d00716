"""A row of the table: what happens, what is promised of it, and how a run makes it happen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proof.faults.crew import Crew
from proof.faults.rival_crew import RivalCrew


@dataclass(frozen=True, slots=True)
class Row:
    """One of the table.

    Args:
        name: of its file.
        what: what happens, for readers.
        promise: what is promised of the tasks, or jobs, of DelayHub.
        deed: makes it happen, once they are there.
        none: the figures that must be zero of DelayHub.
        crew: how the crew differs from others.
        brokers: the schemes that it is played on.
        runs: how many there are to be of each.
        kind: what plays it: a crew, or a centre of jobs.
    """

    name: str
    what: str
    promise: str
    deed: Callable[[Any], None]
    none: tuple[str, ...] = ("lost", "early", "after_cancel", "stuck")
    crew: Mapping[str, Any] = field(default_factory=dict)
    brokers: tuple[str, ...] = ("delayhub", "redis", "valkey")
    runs: int = 100
    kind: Callable[..., Any] = Crew

    def played(self, folder: Path, broker: str, *, seed: int) -> dict[str, Any]:
        """The figures of one run."""
        kind = RivalCrew if broker == "valkey" else self.kind
        with kind(folder, broker, seed=seed, **self.crew) as crew:
            crew.publish()
            crew.wait_for_some()
            crew.cancel_some()
            self.deed(crew)
            return dict(crew.judged(expected_lost="lost" not in self.none))

    def is_kept(self, figures: Mapping[str, Any]) -> bool:
        """Whether the promise was."""
        return not any(figures[name] for name in self.none)
