"""A row of the table: what happens, what is promised of it, and how a run makes it happen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proof.faults.crew import Crew
from proof.faults.rival_crew import RivalCrew

#: A fault that finds fewer items which have not run yet proves nothing.
LEAST_TO_RUN = 10
#: The figures that are to be zero where each item is to run, and where each is to run once.
AT_LEAST_ONCE = ("lost", "early", "after_cancel", "stuck")
ONCE = (*AT_LEAST_ONCE, "twice")


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
    none: tuple[str, ...] = AT_LEAST_ONCE
    crew: Mapping[str, Any] = field(default_factory=dict)
    brokers: tuple[str, ...] = ("delayhub", "redis", "valkey")
    runs: int = 100
    kind: Callable[..., Any] = Crew

    def played(self, folder: Path, broker: str, *, seed: int) -> dict[str, Any]:
        """The figures of one run. Raises NoFault where it never came to that."""
        kind = RivalCrew if broker == "valkey" else self.kind
        with contextlib.ExitStack() as ending:
            try:
                crew = ending.enter_context(kind(folder, broker, seed=seed, **self.crew))
                crew.begin()
                crew.wait_for_some()
                crew.cancel_some()
                to_run = len(crew.to_run())
            except Exception as error:
                raise NoFault(repr(error)) from error
            if to_run < LEAST_TO_RUN:
                raise NoFault(f"{to_run} were still to run")
            self.deed(crew)
            return {**crew.judged(), "to_run": to_run}

    @property
    def needs_root(self) -> bool:
        """Whether it has a disk of its own."""
        return "disk" in self.crew or "redis_disk" in self.crew

    def is_kept(self, figures: Mapping[str, Any]) -> bool:
        """Whether the promise was."""
        return not any(figures[name] for name in self.none)


class NoFault(Exception):
    """A run never came to its fault, or so late that it could do no harm: as on a machine that is busy."""
