"""``python -m delayhub.cli up | demo``; see ``local_commands``."""

from __future__ import annotations

import signal
import sys
from importlib import import_module

if __name__ == "__main__":
    # While the modules are imported nothing runs yet, so a Ctrl-C may end this process at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(import_module("delayhub.cli.local_commands").start())
