"""The name of the task that a message calls, as its payload has it."""

from __future__ import annotations

import re

#: How messages begin, so that the scripts find whose they are: the first header of the first field.
_TASK = re.compile(rb'\{"headers":\{"task":"([^"]+)"')
#: How those of earlier releases have it.
_EARLIER_TASK = re.compile(rb'[^{}]*?"task":"([^"]+)"')
_EARLIER_HEADERS = b',"headers":{'


def task_of(payload: bytes) -> str | None:
    """The task that a message calls, as the keys have it; None where it names none."""
    found = _TASK.match(payload)
    if found is None:
        at = payload.find(_EARLIER_HEADERS)
        found = _EARLIER_TASK.match(payload, at + len(_EARLIER_HEADERS)) if at >= 0 else None
    return found[1].decode() if found else None
