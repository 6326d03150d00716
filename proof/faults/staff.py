"""The workers of a run, and those who end them, hold them up and put others in their place."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

from proof.faults.forks import has_ended, kill
from proof.faults.shop import LEASE_SECONDS
from tests.repository import ROOT


class Staff:
    """What all runs do to their workers; how one starts is said by each.

    Args:
        folder: of the run.
        seed: decides whom it meets.
    """

    def __init__(self, folder: Path, *, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.workers: list[int] = []
        #: Processes that ended by themselves, and were started again, as a supervisor does.
        self.restarted = 0

    def start_worker(self) -> None:
        """One more worker."""
        raise NotImplementedError

    def replace_worker(self) -> None:
        """A worker dies by kill -9, with its children, and another one takes its place."""
        kill(self.workers.pop(self.chance.randrange(len(self.workers))))
        self.start_worker()

    def kill_a_child(self) -> None:
        """A child of a pool dies by kill -9."""
        children = psutil.Process(self.chance.choice(self.workers)).children()
        self.chance.choice(children).kill()

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """All workers stand still for as long as the block lasts."""
        for worker in self.workers:
            os.killpg(worker, signal.SIGSTOP)
        try:
            yield
        finally:
            for worker in self.workers:
                os.killpg(worker, signal.SIGCONT)

    def stop_a_worker(self) -> None:
        """A worker stands still beyond its lease, and goes on."""
        worker = self.chance.choice(self.workers)
        os.killpg(worker, signal.SIGSTOP)
        time.sleep(LEASE_SECONDS + 1.5)
        os.killpg(worker, signal.SIGCONT)

    def tend(self) -> None:
        """Starts another worker for each that ended by itself."""
        for worker in [worker for worker in self.workers if has_ended(worker)]:
            self.workers.remove(worker)
            self.start_worker()
            self.restarted += 1

    def wrong_clock(self) -> Mapping[str, str]:
        """What a process is told whose clock is an hour off, to one side or the other."""
        shift = self.folder / "shift"
        shift.write_text(str(self.chance.choice([-3600.0, 3600.0])))
        folders = os.pathsep.join([str(ROOT / "tests/acceptance/skewed_clock"), str(ROOT)])
        return {**os.environ, "CLOCK_SHIFT_FILE": str(shift), "PYTHONPATH": folders}
