"""One log for people and machines: every record a sentence, with its facts beside it.

Code logs with the standard library (``logger.info("Job %s fired", id, extra={"job_id": id})``);
structlog renders what arrives, as JSON lines or for a console.
"""

from __future__ import annotations

import sys
from typing import Any

import structlog

_SHARED: list[Any] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(*, format_name: str, level: str) -> dict[str, Any]:
    """The value of Django's ``LOGGING``: format_name is ``json`` or ``console``, level a level's name."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "delayhub": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _SHARED,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *_renderers(format_name),
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "delayhub"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django's own handlers would print every record twice.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
        },
    }


def _renderers(format_name: str) -> list[Any]:
    if format_name == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    return [structlog.dev.ConsoleRenderer(event_key="event", pad_event_to=0, colors=sys.stderr.isatty())]
