"""The verbs of API keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Unpack

from delayhub.client.models.keys import ApiKey, ApiKeyFields, NewApiKey, Scope
from delayhub.client.request import Request, given, parameters, plain, read
from delayhub.client.synchronous.connection import Connection


class Keys:
    """API keys, which take the scope ``keys``. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(
        self,
        name: str,
        *,
        scopes: Sequence[Scope],
        owner: str | None = None,
        biz_types: Sequence[str] | None = None,
        expires_at: datetime | str | None = None,
    ) -> NewApiKey:
        """Issues a key; gives it with the key itself, which is shown this once.

        Args:
            name: its name.
            scopes: what it may do; no more than your own key may.
            owner: who answers for its use.
            biz_types: the codes of the only biz types that it may see; all, where none are given.
            expires_at: when it ends; never, where it is not given.
        """
        body = given(name=name, scopes=scopes, owner=owner, biz_types=biz_types, expires_at=expires_at)
        return self._connection.one(NewApiKey, Request("POST", "/keys", body=body))

    def read(self, key: int) -> ApiKey:
        """The key with that number."""
        return self._connection.one(ApiKey, read(_path(key)))

    def list(
        self, *, name: str | None = None, enabled: bool | None = None, page_size: int | None = None
    ) -> Iterator[ApiKey]:
        """Keys for which everything holds that is given, the newest first."""
        query = parameters(name=name, enabled=enabled, limit=page_size)
        return self._connection.pages(ApiKey, "/keys", query=query)

    def change(self, key: int, *, version: int | None = None, **fields: Unpack[ApiKeyFields]) -> ApiKey:
        """Changes the fields that are given, and no others; it holds from the key's next call on.

        Args:
            key: its number.
            version: the version that you saw; where the key has another, nothing changes: PreconditionFailed.
            fields: the fields.
        """
        body = {**plain(fields), **given(version=version)}
        return self._connection.one(ApiKey, Request("PATCH", _path(key), body=body))

    def rotate(self, key: int, *, overlap: timedelta | float | None = None, version: int | None = None) -> NewApiKey:
        """Replaces the key by a new one; the one so far stays valid for that time."""
        body = given(overlap_seconds=overlap, version=version)
        return self._connection.one(NewApiKey, Request("POST", f"{_path(key)}/rotate", body=body))

    def end_previous(self, key: int, *, version: int | None = None) -> ApiKey:
        """Ends the replaced key at once, if it is still valid beside the present one."""
        body = given(version=version)
        return self._connection.one(ApiKey, Request("POST", f"{_path(key)}/end-previous", body=body))

    def revoke(self, key: int) -> None:
        """Deletes the key, and a replaced one that is still valid. Its next call is refused."""
        self._connection.ask(Request("DELETE", _path(key)))


def _path(key: int) -> str:
    return f"/keys/{key}"
