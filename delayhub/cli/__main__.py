"""``delayhub``, which is also ``python -m delayhub.cli``."""

from __future__ import annotations

import signal
import sys


def run() -> int:
    """The exit code of the command in this process's arguments."""
    # While the modules are imported nothing runs yet, so a Ctrl-C may end this process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from delayhub.cli.main import main  # noqa: PLC0415  after the line above

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
