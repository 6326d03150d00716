"""Rival crew: the crew of one run whose broker is celery-redis-plus, in the environment that benchmarks make for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.rival_peers import PEERS, python_of
from proof.faults.crew import Crew
from tests.repository import ROOT


def rival_python() -> Path:
    """The Python of its environment, which is made where there is none yet. Raises NotAtHand where it cannot be."""
    return python_of(next(peer for peer in PEERS if peer.name == "celery-redis-plus"))


class RivalCrew(Crew):
    """One run; see :class:`Crew`. The publisher is a process of that environment, too."""

    def __init__(self, folder: Path, broker: str, **options: Any) -> None:
        super().__init__(folder, broker, **options)
        self.python = rival_python()

    def start_worker(self) -> None:
        """One more worker."""
        self.start_worker_process({**os.environ, "PYTHONPATH": str(ROOT)})

    def warm(self) -> None:
        """Publishes tasks by which each worker says that it works."""
        self._shop("warm")

    def publish_these(self, numbers: range) -> Iterator[tuple[int, float, str]]:
        """Number, due time and id of those that were published."""
        said = self._shop("publish", str(numbers.start), str(numbers.stop), str(self.chance.randrange(1_000_000)))
        for line in said.splitlines():
            number, due, task_id = line.split()
            yield int(number), float(due), task_id

    def left(self) -> int:
        """How many tasks the broker has: each is in an index until it is acknowledged."""
        with self.server.client() as client:
            count: Any = client.zcard("messages_index:celery")
        return int(count)

    def _shop(self, verb: str, *words: str) -> str:
        command = [str(self.python), "-m", "proof.faults.shop", verb, self.url, str(self.folder), *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout
