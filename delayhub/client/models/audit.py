"""The audit: who did what, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID


class AuditQuery(TypedDict, total=False):
    """Which deeds: those for which everything holds that is given."""

    actor: str | None
    verb: str | None
    biz_type: str | None
    job: str | UUID | None
    operation: int | None
    since: datetime | str | None
    until: datetime | str | None


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """One deed of a person, a key, an operation or a receiver."""

    id: int
    at: datetime
    #: ``ada``, ``api:checkout``, ``op 17`` or ``receiver``.
    actor: str
    #: Where the request came from.
    address: str | None
    #: Such as ``cancel`` or ``biz_type.pause``.
    verb: str
    job_id: str | None
    #: None: it is gone, or the deed was about none.
    biz_type: str | None
    operation_id: int | None
    #: The name of what was changed, as it was then.
    what: str
    #: What was changed, as it was; never a secret.
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    reason: str
