"""What jobs cost: CPU time of the worker's threads, of PostgreSQL and of Redis, as the kernel counts it.

Method: ``schedstat`` of each thread in ``/proc``, in ns, before and after, so that a start-up is not in it, nor what
the creator used. PostgreSQL is its postmaster and all children of that; of those that have ended the kernel keeps ticks
of 10 ms. What HTTP costs is measured apart (``http_alone``): the same exchanges with the same receiver, over the
worker's own connections on the worker's core, with nothing around them. The rest of the loop's thread is Python:
headers, signatures, outcomes, queues between threads, and waiting for the interpreter.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cores import pin, used, used_by_family, used_by_thread

TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
#: What the threads of a worker do, by their names.
WORK = {"MainThread": "Celery and claims", "delayhub-outcome-writer": "outcomes", "delayhub-dispatcher": "callbacks"}
LOADER = "delayhub-maintenance"


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
            spent[f"worker: {WORK.get(name, 'loader' if name == LOADER else 'others')}"] += used_by_thread(thread)
        spent["worker"] = sum(spent.values())
        if self.redis is not None:
            spent["Redis"] = used(self.redis)
        if self.postmaster is not None:
            spent["PostgreSQL"] = used_by_family(self.postmaster) + _used_by_ended_children(self.postmaster)
        return spent

    def _threads(self) -> dict[str, int]:
        threads: dict[str, int] = json.loads(self.threads_file.read_text())
        return threads


def each(before: Counter[str], after: Counter[str], count: float) -> dict[str, int]:
    """µs of each, for one of so many jobs."""
    return {name: round((after[name] - before[name]) / count * 1_000_000) for name in sorted(after)}


def http_alone(url: str, count: int, *, core: int) -> int:
    """µs of CPU for one exchange with the receiver, alone in a loop on that core."""
    command = [sys.executable, "-m", "benchmarks.jobs_cost", url, str(count), str(core)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return round(float(run.stdout))


def _used_by_ended_children(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) * TICK_SECONDS


def _exchange(url: str, count: int) -> float:
    import asyncio
    import time

    import uvloop

    from tasksapp.delivery.address_guard import AddressGuard
    from tasksapp.delivery.callback import Target
    from tasksapp.delivery.connections import Connections
    from tasksapp.delivery.route import Route

    body = b'{"order":1,"note":"the customer did not pay"}'

    async def run() -> float:
        kept = Connections(AddressGuard(["127.0.0.0/8"]), keep=True, answer_bytes=4096)
        route = Route(Target(biz_type="alone", url=url, host="receiver"), user_agent="DelayHub")
        left = iter(range(count))

        async def take_turns() -> None:
            for _ in left:
                await kept.exchange(route, f"webhook-id: {'0' * 36}\r\n", body)

        began = time.thread_time()
        await asyncio.gather(*(take_turns() for _ in range(min(count, 500))))
        spent = time.thread_time() - began
        await kept.close()
        return spent / count * 1_000_000

    return uvloop.run(run())


if __name__ == "__main__":
    pin(0, int(sys.argv[3]))
    print(_exchange(sys.argv[1], int(sys.argv[2])))
