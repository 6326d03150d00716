"""The verbs of biz types."""

from __future__ import annotations

from collections.abc import Sequence

from delayhub.client.models.biz_types import BizType
from delayhub.client.request import read, segment
from delayhub.client.synchronous.connection import Connection


class BizTypes:
    """Biz types, the kinds of jobs. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self) -> Sequence[BizType]:
        """All biz types that the key may see, by code."""
        return self._connection.every(BizType, read("/biz-types"))

    def read(self, code: str) -> BizType:
        """The biz type with that code."""
        return self._connection.one(BizType, read(f"/biz-types/{segment(code)}"))
