"""The audit: who did what, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypedDict
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
    actor: Annotated[str, "`ada`, `api:checkout`, `op 17` or `receiver`."]
    address: Annotated[str | None, "Where the request came from."]
    verb: Annotated[str, "Such as `cancel` or `biz_type.pause`."]
    job_id: Annotated[str | None, UUID]
    biz_type: Annotated[str | None, "None: it is gone, or the deed was about none."]
    operation_id: int | None
    what: Annotated[str, "The name of what was changed, as it was then."]
    before: Annotated[Mapping[str, Any], "What was changed, as it was; never a secret."]
    after: Mapping[str, Any]
    reason: str
