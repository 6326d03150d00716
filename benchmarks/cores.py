"""The machine's cores, who runs on which, and what processes have used of them."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import psutil

#: The worker has a core of its own where there are two; the servers and the receiver share the other.
CORES = sorted(os.sched_getaffinity(0))
WORKER_CORE, OTHER_CORE = CORES[0], CORES[-1]


def pin(pid: int | None, core: int = OTHER_CORE) -> None:
    """Gives a process a core, if it is ours; 0 is this one."""
    if pid is not None:
        os.sched_setaffinity(pid, {core})


def used_by_thread(thread: Path) -> float:
    """Seconds of CPU of a thread, by its folder in /proc; this file has ns, others hundredths of a second."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
        return int((thread / "schedstat").read_text().split()[0]) / 1e9
    return 0.0


def used(pid: int) -> float:
    """Seconds of CPU of a process' threads."""
    return sum(map(used_by_thread, Path(f"/proc/{pid}/task").glob("*")))


def used_by_family(pid: int) -> float:
    """The same of a process and all below it that are alive."""
    return sum(used(each.pid) for each in family(pid))


def family(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    first = psutil.Process(pid)
    return [first, *first.children(recursive=True)]


def resident(pid: int) -> int:
    """The memory of a process and of all below it, in bytes."""
    return sum(int(each.memory_info().rss) for each in family(pid))


def used_by_server(client: Any) -> float:
    """Seconds of CPU of a Redis server, as it says itself."""
    found = client.info("cpu")
    return float(found["used_cpu_user"]) + float(found["used_cpu_sys"])
