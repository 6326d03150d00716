"""The verbs of biz types."""

from __future__ import annotations

from collections.abc import Sequence

from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.models.biz_types import BizType
from delayhub.client.request import read, segment


class AsyncBizTypes:
    """Biz types, the kinds of jobs. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def list(self) -> Sequence[BizType]:
        """All biz types that the key may see, by code."""
        return await self._connection.every(BizType, read("/biz-types"))

    async def read(self, code: str) -> BizType:
        """The biz type with that code."""
        return await self._connection.one(BizType, read(f"/biz-types/{segment(code)}"))
