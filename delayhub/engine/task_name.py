"""The name of the task that a message calls, and its flow key, as its payload has them."""

from __future__ import annotations

import re

from delayhub.engine.entry import MAX_FLOW_KEY_BYTES

#: The header with the flow key of a message.
FLOW_KEY_HEADER = "x-delayhub-key"
#: Between a task's name and a flow key, in the names by which messages are parked; behind the task's name, with no key,
#: it is the limit of each of its keys. JSON writes it as the scripts have it.
KEY_MARK = "\0"
#: What no flow key has: what those of jobs have not, what JSON writes in another way, and half a surrogate pair.
_NOT_IN_KEYS = re.compile('[\\x00-\\x1f\\x7f-\\x9f:{}"\\\\\ud800-\udfff]')

#: How messages begin, so that the scripts find whose they are: the first headers of the first field.
_TASK = re.compile(rb'\{"headers":\{"task":"([^"]+)"(?:,"x-delayhub-key":"([^"]+)")?')


def head_of(payload: bytes) -> bytes:
    """What the scripts read of a message: its beginning, with its task and flow key; empty where it is another."""
    found = _TASK.match(payload)
    return found[0] if found else b""


def task_of(payload: bytes) -> str | None:
    """The task that a message calls, as the keys have it; None where it names none."""
    found = _TASK.match(payload)
    return found[1].decode() if found else None


def flow_key_of(payload: bytes) -> str | None:
    """The flow key of a message, as JSON writes it; None where it has none."""
    found = _TASK.match(payload)
    return found[2].decode() if found and found[2] else None


def parking_names(payload: bytes) -> list[str]:
    """The names by which a message may be parked, as the keys have them: that of its flow key, and of its task."""
    task, key = task_of(payload), flow_key_of(payload)
    if task is None:
        return []
    return [task] if key is None else [f"{task}\\u0000{key}", task]


def fault_of(key: object) -> str | None:
    """Why a value cannot be a flow key; None where it can."""
    if not isinstance(key, str) or not 0 < len(key.encode(errors="replace")) <= MAX_FLOW_KEY_BYTES:
        return f"a flow key is a text of 1 to {MAX_FLOW_KEY_BYTES} bytes, got {key!r}"
    if _NOT_IN_KEYS.search(key):
        return f"a flow key has no colon, brace, quote, backslash or control character, got {key!r}"
    return None
