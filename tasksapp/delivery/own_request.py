"""OwnRequest: what the request of one job has of its own, as the job's row keeps it.

Nearly all jobs have nothing of the kind, so that all of it stands in one column, which is empty then.

The content type of a job with exact bytes stands there too (decision 57).
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from yarl import URL

from tasksapp.delivery.sent_request import MASK, shown_address, shown_value


class OwnRequest(NamedTuple):
    """What a job brings in place of what its biz type says, or beside it.

    Args:
        timeout_seconds: in place of the biz type's; None for that.
        url: in place of the biz type's; '' for that.
        headers: beside the biz type's, and in place of those of the same names.
        sealed: the same, of headers whose names say that they hold secrets: their values, encrypted.
        origin: scheme, host and port that the sealed ones were given for; they go nowhere else.
        content_type: of the job's exact bytes; '' where its body is JSON.
    """

    timeout_seconds: float | None = None
    url: str = ""
    headers: dict[str, str] = {}
    sealed: dict[str, str] = {}
    origin: str = ""
    content_type: str = ""

    def text(self) -> str:
        """What the column holds; '' where there is nothing."""
        kept = {name: value for name, value in self._asdict().items() if value not in (None, "", {})}
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")) if kept else ""

    def shown(self) -> dict[str, Any]:
        """The same as callers and pages may see it, with secrets masked; only what there is."""
        found: dict[str, Any] = {}
        if self.timeout_seconds is not None:
            found["timeout_seconds"] = self.timeout_seconds
        headers = {name: shown_value(name, value) for name, value in self.headers.items()}
        headers |= dict.fromkeys(self.sealed, MASK)
        if headers:
            found["headers"] = headers
        if self.url:
            found["url"] = shown_address(URL(self.url))
        return found


def read_own_request(text: str) -> OwnRequest:
    """What the column holds, as it was written."""
    return OwnRequest(**json.loads(text)) if text else OwnRequest()


def shown_own_request(text: str) -> dict[str, Any] | None:
    """What the column holds, with secrets masked; None where it holds nothing."""
    return read_own_request(text).shown() or None if text else None
