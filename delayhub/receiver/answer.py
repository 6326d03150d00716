"""Answer: what a receiver says to a callback, and what DelayHub makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: The header by which a receiver says what becomes of the job, whatever the status code is.
ACTION = "DelayHub-Action"
#: Actions after which the job has succeeded, and those after which it has not.
TAKEN_ACTIONS, LEFT_ACTIONS = frozenset({"done", "cancel-others"}), frozenset({"retry", "snooze", "fail"})


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer to a callback.

    Args:
        status: the status code.
        headers: such as ``DelayHub-Action`` or ``Retry-After``.
        body: DelayHub keeps the first few KB of it, for people to read.
    """

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def action(self) -> str:
        """What its ``DelayHub-Action`` asks for; '' where it asks for nothing."""
        values = [value for name, value in self.headers.items() if name.lower() == ACTION.lower()]
        return known_action(values[0] if values else "")


def known_action(value: str) -> str:
    """The action that a header's value names; '' for what DelayHub does not know and takes no notice of."""
    action = value.strip().lower()
    return action if action in TAKEN_ACTIONS | LEFT_ACTIONS else ""


def is_taken(status: int, action: str) -> bool:
    """Whether the job has succeeded by such an answer, so that the work has to be kept."""
    if action:
        return action in TAKEN_ACTIONS
    return 200 <= status < 300


def repeated(action: str) -> Answer:
    """The answer to a callback whose work is done: as the first time, in case that answer was lost."""
    return Answer(200, {"DelayHub-Duplicate": "1", **({ACTION: action} if action else {})})


#: The answer to a callback whose work is under way in another process at this moment.
IN_FLIGHT = Answer(409, {"Retry-After": "1"}, b"the same callback is being worked on")
#: The answer to a callback that a person sent to try the receiver.
TESTED = Answer(204)
