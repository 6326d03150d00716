"""API keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, TypedDict

Scope = Literal[
    "jobs:read", "jobs:write", "jobs:act", "jobs:link", "jobs:export", "jobs:body", "jobs:pull",
    "biz-types:read", "biz-types:write", "keys", "stats",
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
    owner: Annotated[str, "Who answers for its use."]
    prefix: Annotated[str, "How the key begins."]
    scopes: Annotated[Sequence[Scope], "What it may do."]
    biz_types: Annotated[Sequence[str] | None, "Only these. None: all of its tenant."]
    expires_at: Annotated[datetime | None, "None: never."]
    enabled: bool
    previous_prefix: Annotated[str | None, "Of the replaced key, while it is valid."]
    previous_until: Annotated[datetime | None, "Until when the replaced key is valid."]
    created_at: datetime
    last_used_at: Annotated[datetime | None, "To the minute."]
    last_used_from: Annotated[str | None, "The address of the last use."]
    version: Annotated[int, "Grows with each change."]


@dataclass(frozen=True, kw_only=True)
class OwnKey:
    """The API key or the person that a request is from, and what it may do."""

    name: Annotated[str, "Of the key, or of the person."]
    scopes: Annotated[Sequence[Scope], "What it may do."]
    biz_types: Annotated[Sequence[str] | None, "Only these. None: all of its tenant."]


@dataclass(frozen=True, kw_only=True)
class NewApiKey(ApiKey):
    """A key, with the key itself."""

    key: Annotated[str, "The key. It is not stored, and no other answer has it."]
