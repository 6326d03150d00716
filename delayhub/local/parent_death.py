"""Runs a program that ends when the process that started it has ended, also by SIGKILL.

``python -IS parent_death.py PARENT PROGRAM [ARGUMENT ...]``; PARENT is the process id of the process that starts it. On
systems other than Linux the program runs too, but may outlive its parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

#: From linux/prctl.h: the signal that the kernel sends when the parent ends. The setting survives exec.
PR_SET_PDEATHSIG = 1


def ending_with_parent(program: Sequence[str]) -> list[str]:
    """The command that runs the program as long as this process runs."""
    # As a file alone, without what is installed: that takes a quarter of the time.
    return [sys.executable, "-IS", __file__, str(os.getpid()), *program]


def main() -> None:
    """Replaces this process by the program."""
    parent, *program = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != int(parent):  # it ended before the prctl, so no signal will come
            sys.exit(f"the process {parent} that started this one is gone")
    os.execvp(program[0], program)  # noqa: S606  no shell is wanted: the arguments are the program's own


if __name__ == "__main__":
    main()
