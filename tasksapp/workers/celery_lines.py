"""Keeps Celery's two lines about each claim of timers out of the log: jobs have lines of their own.

Celery writes that a task is received and has succeeded for each task it runs. ``tasksapp.deliver`` is no task of the
project's but how due timers come to a worker, many times a second. With debugging on, its lines are there.
"""

from __future__ import annotations

import logging

from tasksapp.timers.fitness import TIMER_TASK

#: The loggers that have those lines; each record has what it is about in ``data``.
LOGGERS = ("celery.worker.strategy", "celery.app.trace")


class WithoutDeliveries(logging.Filter):
    """A filter of the standard library's, for Celery's loggers."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written: all but information about claims of timers, unless debugging is on."""
        if record.levelno != logging.INFO or logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
            return True
        data = getattr(record, "data", None)
        return not (isinstance(data, dict) and data.get("name") == TIMER_TASK)


_filter = WithoutDeliveries()


def leave_out_deliveries() -> None:
    """Adds the filter to Celery's loggers; a second call adds nothing."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_filter)
