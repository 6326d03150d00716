"""Forks that do the work of a run; kill -9 takes a fork as it takes any process."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path


def forked(work: Callable[[], object], *, log: Path) -> int:
    """The process that does it, with a group of its own and what it says in the log; it ends with the work."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.setsid()
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(output, stream)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        work()
        code = 0
    except BaseException:  # the fork may not go on as if it were its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def kill(process: int) -> None:
    """kill -9 to a process and its children."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGCONT)
        os.killpg(process, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process, 0)


def has_ended(process: int) -> bool:
    """Whether a child has ended by itself, which is asked until it has."""
    try:
        return bool(os.waitpid(process, os.WNOHANG)[0])
    except ChildProcessError:  # subprocess has asked before
        return True
