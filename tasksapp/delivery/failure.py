"""Failure: the kinds of failure that a callback can have, as short keys that pages filter by.

The words for people, and the kinds that only jobs have, are in ``tasksapp/models/error_class.py``.
"""

from __future__ import annotations

from enum import StrEnum


class Failure(StrEnum):
    """The kind of a callback's failure."""

    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    DNS = "dns"
    TLS = "tls"
    RESET = "reset"
    PROTOCOL = "protocol"
    ADDRESS = "address"
    REJECTED = "rejected"
    ASKED = "asked"
    OUTCOME_UNKNOWN = "outcome_unknown"
    RETURNED = "returned"
    SYSTEM = "system"
    OTHER = "other"


def http_failure(status_code: int) -> str:
    """The kind of failure of an answer with that status: ``http.503``."""
    return f"http.{status_code}"
