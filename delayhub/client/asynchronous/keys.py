"""The verbs of API keys."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Unpack

from delayhub.api_models.keys import ApiKey, ApiKeyFields, NewApiKey, NewApiKeyFields, OwnKey, Scope
from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.request import Request, given, parameters, plain, read


class AsyncKeys:
    """API keys, which take the scope ``keys``, but for ``own``. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def create(self, name: str, *, scopes: Sequence[Scope], **fields: Unpack[NewApiKeyFields]) -> NewApiKey:
        """Issues a key; gives it with the key itself, which is shown this once.

        Args:
            name: its name.
            scopes: what it may do; no more than your own key may.
            fields: who answers for it, its biz types and its end.
        """
        return await self._connection.post(NewApiKey, "/keys", name=name, scopes=scopes, **fields)

    async def own(self) -> OwnKey:
        """What the key of this client may do. It takes no scope."""
        return await self._connection.one(OwnKey, read("/key"))

    async def read(self, key: int) -> ApiKey:
        """The key with that number."""
        return await self._connection.one(ApiKey, read(_path(key)))

    def list(
        self, *, name: str | None = None, enabled: bool | None = None, page_size: int | None = None
    ) -> AsyncIterator[ApiKey]:
        """Keys for which everything holds that is given, the newest first."""
        return self._connection.pages(ApiKey, "/keys", query=parameters(name=name, enabled=enabled, limit=page_size))

    async def change(self, key: int, *, version: int | None = None, **fields: Unpack[ApiKeyFields]) -> ApiKey:
        """Changes the fields that are given, and no others; it holds from the key's next call on.

        Args:
            key: its number.
            version: the version that you saw; where the key has another, nothing changes: PreconditionFailed.
            fields: the fields.
        """
        body = {**plain(fields), **given(version=version)}
        return await self._connection.one(ApiKey, Request("PATCH", _path(key), body=body))

    async def rotate(
        self, key: int, *, overlap: timedelta | float | None = None, version: int | None = None
    ) -> NewApiKey:
        """Replaces the key by a new one; the one so far stays valid for that time."""
        return await self._connection.post(NewApiKey, f"{_path(key)}/rotate", overlap_seconds=overlap, version=version)

    async def end_previous(self, key: int, *, version: int | None = None) -> ApiKey:
        """Ends the replaced key at once, if it is still valid beside the present one."""
        return await self._connection.post(ApiKey, f"{_path(key)}/end-previous", version=version)

    async def revoke(self, key: int) -> None:
        """Deletes the key, and a replaced one that is still valid. Its next call is refused."""
        await self._connection.ask(Request("DELETE", _path(key)))


def _path(key: int) -> str:
    return f"/keys/{key}"
