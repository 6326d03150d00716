"""One log for people and machines: every record a sentence, with its facts beside it.

Code logs with the standard library (``logger.info("Job %s fired", id, extra={"job_id": id})``);
structlog renders what arrives, as JSON lines or for a console.

Tracebacks never show the values of variables, and SQL statements are not logged: among the values are API keys,
passwords and the bodies of jobs. What a caller wrote, such as the path of a request, cannot begin a line of its own:
control characters are escaped.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any, TextIO

import structlog

from delayhub.escaped_text import escaped
from delayhub.request_ids import current_request_id


def _add_request_id(_logger: Any, _method: str, facts: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Says which request a line belongs to, by the id that its answer has."""
    if request_id := current_request_id.get():
        facts.setdefault("request_id", request_id)
    return facts


_SHARED: list[Any] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
    _add_request_id,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(*, format_name: str, level: str, job_level: str = "NOTSET") -> dict[str, Any]:
    """The value of Django's ``LOGGING``.

    Args:
        format_name: ``json`` or ``console``.
        level: a level's name.
        job_level: that of the lines about jobs; ``NOTSET`` for the same.
    """
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
            "delayhub.jobs": {"level": job_level},
            # In debug mode Django logs each statement with its values, among them bodies, headers and session keys.
            "django.db.backends": {"level": "INFO"},
        },
    }


def _renderers(format_name: str) -> list[Any]:
    if format_name == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(default=str)]
    console = structlog.dev.ConsoleRenderer(
        event_key="event", pad_event_to=0, colors=sys.stderr.isatty(), exception_formatter=_write_traceback
    )
    return [_escape_controls, console]


def _escape_controls(_logger: Any, _method: str, facts: structlog.typing.EventDict) -> structlog.typing.EventDict:
    for name, value in facts.items():
        if isinstance(value, str):
            facts[name] = escaped(value)
    return facts


def _write_traceback(file: TextIO, error: structlog.typing.ExcInfo) -> None:
    """Writes a traceback without variables, indented: an error's message cannot begin a line of the log either."""
    lines = "".join(traceback.format_exception(*error)).rstrip("\n").split("\n")
    file.write("".join(f"\n    {escaped(line)}" for line in lines))
