from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

from tests.repository import ROOT
from tests.waiting import wait_until

#: A benchmark with a child that hears SIGTERM, one that does not, and one that stands still. It hears Ctrl-C, which is
#: ignored by what runs in the background; the tests may be that.
BENCHMARK = """
import signal, subprocess, sys, time
from benchmarks import processes

processes.PATIENCE_SECONDS = 0.5
signal.signal(signal.SIGINT, signal.default_int_handler)
WAITS = "import signal; print('up', flush=True); signal.pause()"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + WAITS

def main():
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
        for code in (WAITS, DEAF, WAITS)
    ]
    for child in started:
        child.stdout.readline()
    child.send_signal(signal.SIGSTOP)
    print(*(child.pid for child in started), flush=True)
    time.sleep(int(sys.argv[1]))

sys.exit(processes.run_main(main))
"""


def started(seconds: int) -> tuple[subprocess.Popen[str], list[int]]:
    """A benchmark that takes so long, and the processes that it has started."""
    command = [sys.executable, "-c", BENCHMARK, str(seconds)]
    benchmark = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert benchmark.stdout is not None
    with benchmark.stdout as said:
        return benchmark, [int(pid) for pid in said.readline().split()]


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)])
def test_children_end_with_a_benchmark_that_is_stopped(number: signal.Signals, code: int) -> None:
    benchmark, children = started(600)
    assert [lives(pid) for pid in children] == [True] * 3

    benchmark.send_signal(number)

    assert benchmark.wait(60) == code
    wait_until(lambda: not any(map(lives, children)))


def test_a_benchmark_that_ends_by_itself_leaves_nothing_running() -> None:
    benchmark, children = started(0)

    assert benchmark.wait(60) == 0
    assert len(children) == 3
    wait_until(lambda: not any(map(lives, children)))
