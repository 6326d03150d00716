"""ReceivedCallback: a callback whose signature was checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class ReceivedCallback:
    """A callback whose signature was checked.

    The signature covers ``id``, ``timestamp`` and ``body``; what comes from other headers is as true as the connection.

    Args:
        id: the job's id, the same on every attempt.
        timestamp: when this attempt began, Unix seconds.
        body: the bytes as they came.
        headers: all headers, their names in lower case.
    """

    id: str
    timestamp: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)

    def json(self) -> Any:
        """The body read as JSON; raises ValueError where it is none."""
        return json.loads(self.body)

    @property
    def biz_type(self) -> str:
        """The code of the biz type."""
        return self.headers.get("delayhub-biz-type", "")

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1; a redrive counts from 1 again."""
        return self._number("delayhub-attempt", otherwise=1)

    @property
    def redrive(self) -> int:
        """How often the job was redriven before."""
        return self._number("delayhub-redrive", otherwise=0)

    @property
    def due_at(self) -> datetime | None:
        """When the caller wanted it."""
        value = self.headers.get("delayhub-due-at")
        return datetime.fromisoformat(value) if value else None

    @property
    def is_test(self) -> bool:
        """Whether a person sent it to try the receiver, and there is no job."""
        return self.headers.get("delayhub-test") == "1"

    def key(self, *, count_redrives: bool = True) -> str:
        """What the inbox knows it by: a callback that comes twice has the same key.

        Args:
            count_redrives: whether a job that a person or a program redrives is to be worked on once more.
        """
        return f"{self.id}:{self.redrive}" if count_redrives and self.redrive else self.id

    def _number(self, name: str, *, otherwise: int) -> int:
        value = self.headers.get(name, "")
        return int(value) if _NUMBER.fullmatch(value) else otherwise
