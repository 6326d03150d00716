"""What jobs cost: CPU time of the worker's threads, of PostgreSQL and of Redis, as the kernel counts it.

Method: ``schedstat`` of each thread in ``/proc``, in ns, before and after, so that a start-up is not in it, nor what
the creator used. PostgreSQL is its postmaster and all children of that; of those that have ended the kernel keeps ticks
of 10 ms.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cores import used, used_by_family, used_by_thread

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
#: What the threads of a worker do, by their names, also of the first releases.
WORK = {"MainThread": "Celery and claims", "delayhub-outcome-writer": "outcomes", "delayhub-dispatcher": "callbacks"}
WORK |= {"delayhub-maintenance": "loader", "delayhub-clerk": "outcomes", "delayhub-loader": "loader"}


@dataclass
class Processes:
    """What is looked at: process ids, None for what is not ours to see."""

    worker: int
    threads_file: Path
    redis: int | None
    postmaster: int | None

    def cpu_seconds(self) -> Counter[str]:
        """What each has used so far, by what it does."""
        spent: Counter[str] = Counter()
        names = {str(native): name for name, native in self._threads().items()}
        for thread in Path(f"/proc/{self.worker}/task").iterdir():
            name = names.get(thread.name, "")
            spent[f"worker: {WORK.get(name, 'others')}"] += used_by_thread(thread)
        spent["worker"] = sum(spent.values())
        if self.redis is not None:
            spent["Redis"] = used(self.redis)
        if self.postmaster is not None:
            spent["PostgreSQL"] = used_by_family(self.postmaster) + _used_by_ended_children(self.postmaster)
        return spent

    def _threads(self) -> dict[str, int]:
        threads: dict[str, int] = json.loads(self.threads_file.read_text())
        return threads


def _used_by_ended_children(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) * TICK_SECONDS
