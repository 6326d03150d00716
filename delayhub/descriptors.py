"""Descriptors: a process that can open no more files and sockets ends, so that it is started again.

It can neither accept nor make connections, and mostly does not recover: what holds its descriptors is a leak, or far
more work than its limit allows. A service manager starts it again within seconds.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import threading

logger = logging.getLogger(__name__)

#: How often it is looked.
LOOK_SECONDS = 1.0
#: Looks in a row that find none before the process ends: a peak of work may be over by then.
PATIENT_LOOKS = 5
#: How long the process may take to end in order.
END_SECONDS = 30.0
#: The exit code of a process that did not: sysexits.h's EX_OSERR.
EXIT_CODE = 71

NONE_LEFT = (
    "this process can open no more files and sockets (EMFILE or ENFILE): raise its limit (ulimit -n, LimitNOFILE)"
)


def has_descriptors() -> bool:
    """Return whether this process can open one more file."""
    try:
        os.close(os.open(os.sep, os.O_RDONLY))
    except OSError as error:
        return error.errno not in {errno.EMFILE, errno.ENFILE}
    return True


class DescriptorWatch:
    """Ends this process once it has been out of descriptors for some seconds: by SIGTERM, later by force.

    Args:
        look_seconds: how often it looks.
        end_seconds: how long the process may take to end in order.
    """

    def __init__(self, *, look_seconds: float = LOOK_SECONDS, end_seconds: float = END_SECONDS) -> None:
        self._look_seconds = look_seconds
        self._end_seconds = end_seconds
        self._misses = 0

    def start(self) -> None:
        """Begin to look, in a thread."""
        threading.Thread(target=self._run, name="delayhub-descriptors", daemon=True).start()

    def run_once(self) -> bool:
        """Look once. Return whether the process is to end."""
        self._misses = 0 if has_descriptors() else self._misses + 1
        return self._misses >= PATIENT_LOOKS

    def _run(self) -> None:
        pause = threading.Event()
        while not self.run_once():
            pause.wait(self._look_seconds)
        logger.critical("%s. It ends now, to be started again", NONE_LEFT, extra={"action": "descriptors"})
        os.kill(os.getpid(), signal.SIGTERM)
        pause.wait(self._end_seconds)
        os._exit(EXIT_CODE)


class _Running:
    """The process that watches: a forked child does not."""

    process = 0


def watch_descriptors() -> None:
    """Begin to watch in this process, unless it does already."""
    if _Running.process != os.getpid():
        _Running.process = os.getpid()
        DescriptorWatch().start()
