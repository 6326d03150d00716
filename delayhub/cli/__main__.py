"""``delayhub``, which is also ``python -m delayhub.cli``."""

from __future__ import annotations

import signal
import sys

from delayhub.errors import NotInstalled


def run() -> int:
    """The exit code of the command in this process's arguments."""
    # While the modules are imported nothing runs yet, so a Ctrl-C may end this process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from delayhub.cli.main import main  # noqa: PLC0415  after the line above
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{NotInstalled(f'the command line needs {error.name}', extra='cli')}\n")
        return 1
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
