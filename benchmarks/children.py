"""The processes that a benchmark started: they end with it, also when it is stopped by Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType

import psutil

#: How long a process may take to end after SIGTERM.
PATIENCE_SECONDS = 10.0


def run_main(main: Callable[[], int | None]) -> int:
    """Runs a benchmark, ends what it left running, and gives back its exit code.

    SIGTERM becomes SystemExit, as Ctrl-C becomes KeyboardInterrupt: what the benchmark opened by ``with`` is closed.
    """
    signal.signal(signal.SIGTERM, _leave)
    try:
        return main() or 0
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        end_children()


def end_children() -> None:
    """Ends all processes below this one; those that do not hear SIGTERM are killed."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        try:
            child.terminate()
            child.resume()  # one that was stopped hears nothing
        except psutil.NoSuchProcess:
            continue
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_SECONDS)
    for child in alive:
        child.kill()


def _leave(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)
