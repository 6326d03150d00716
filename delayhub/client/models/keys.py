"""API keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

Scope = Literal[
    "jobs:read", "jobs:write", "jobs:act", "jobs:pull", "biz-types:read", "biz-types:write", "keys", "stats"
]  # fmt: skip


class NewApiKeyFields(TypedDict, total=False):
    """What may be set of a new key, beside its name and its scopes."""

    #: Who answers for its use.
    owner: str
    #: The codes of the only biz types that it may see. None: all of your tenant.
    biz_types: Sequence[str] | None
    #: When it ends. None: never.
    expires_at: datetime | str | None


class ApiKeyFields(NewApiKeyFields, total=False):
    """What may be set of a key."""

    name: str
    scopes: Sequence[Scope]
    enabled: bool


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """Who has a key, and what it may do. The key itself is shown when it is made, and at no other time."""

    id: int
    name: str
    #: Who answers for its use.
    owner: str
    #: How the key begins.
    prefix: str
    #: What it may do.
    scopes: Sequence[Scope]
    #: Only these. None: all of its tenant.
    biz_types: Sequence[str] | None
    #: None: never.
    expires_at: datetime | None
    enabled: bool
    #: Of the replaced key, while it is valid.
    previous_prefix: str | None
    #: Until when the replaced key is valid.
    previous_until: datetime | None
    created_at: datetime
    #: To the minute.
    last_used_at: datetime | None
    #: The address of the last use.
    last_used_from: str | None
    #: Grows with each change.
    version: int


@dataclass(frozen=True, kw_only=True)
class NewApiKey(ApiKey):
    """A key, with the key itself."""

    #: It is not stored, and no other answer has it.
    key: str
