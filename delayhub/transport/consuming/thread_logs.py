"""What a thread of the operating system logs beside eventlet's greenlets."""

from __future__ import annotations

import logging
import threading
from collections import deque
from importlib import import_module
from typing import Any

#: Seconds that a line waits for a greenlet.
PAUSE_SECONDS = 1.0


class ThreadLogs(logging.Filter):
    """Keeps a thread's lines until a greenlet logs them.

    Eventlet's locks, which it puts into ``logging`` too, are for the greenlets of one thread: where two threads want
    the same lock, the program hangs. The keeper logs most while Redis is away, as all others do.

    Args:
        loggers: those that the thread uses.
    """

    def __init__(self, *loggers: logging.Logger) -> None:
        super().__init__()
        self.thread = 0
        self.kept: deque[logging.LogRecord] = deque(maxlen=1000)
        for logger in loggers:
            logger.addFilter(self)

    def begin(self) -> None:
        """Called in the thread, before it logs."""
        self.thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is not the thread's."""
        if record.thread != self.thread or not self.thread:
            return True
        self.kept.append(record)
        return False

    def say(self) -> None:
        """Logs what was kept; called by a greenlet."""
        while self.kept:
            record = self.kept.popleft()
            logging.getLogger(record.name).callHandlers(record)

    def start(self) -> None:
        """Starts the greenlet that logs, once a second."""
        eventlet: Any = import_module("eventlet")

        def run() -> None:
            while True:
                eventlet.sleep(PAUSE_SECONDS)
                self.say()

        eventlet.spawn_n(run)
