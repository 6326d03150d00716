"""Traces: what happens in a model in an order that SPIN draws from a seed; and their replay on the code."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from proof.broken import Broken
from proof.model.checking import ROOM

#: Steps of SPIN, most of which are no events; histories end long before that.
MOST_STEPS = 2000


class Event(NamedTuple):
    """One event.

    Args:
        what: its name.
        who: the process, job or kind that it is about.
        said: the answer of the model, and its state afterwards.
    """

    what: str
    who: int
    said: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.what} {self.who}: {' '.join(self.said)}"


class Player(Protocol):
    """What plays events on the code."""

    def play(self, event: Event) -> tuple[str, ...]:
        """The answer of the code, and its state afterwards, as :attr:`Event.said` has them."""


def traces(model: str, seeds: Iterable[int]) -> Iterator[list[Event]]:
    """The trace of each seed."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            command = ["spin", "-T", "-noclaim", "-DREPLAY", f"-n{seed}", f"-u{MOST_STEPS}", str(ROOM / f"{model}.pml")]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
            yield [_event(line) for line in done.stdout.splitlines() if line.startswith("@ ")]


def _event(line: str) -> Event:
    what, who, *said = line.split()[1:]
    return Event(what, int(who), tuple(said))


def replay(trace: Iterable[Event], player: Player) -> int:
    """Plays a trace on the code; how many events that were.

    Raises:
        Broken: an answer or a state is not the model's; the text has all events up to there.
    """
    past: list[str] = []
    for event in trace:
        past.append(str(event))
        found = player.play(event)
        if found != event.said:
            raise Broken(f"the code says {' '.join(found)}, and the model otherwise:\n" + "\n".join(past))
    return len(past)
