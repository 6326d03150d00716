"""Inboxes that know no callback, so that every work is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from delayhub.receiver import Answer


class OpenInbox:
    """Does the work."""

    def take(self, key: str, work: Callable[[None], Answer]) -> Answer:
        return work(None)


class AsyncOpenInbox:
    """Awaits the work."""

    async def take(self, key: str, work: Callable[[None], Awaitable[Answer]]) -> Answer:
        return await work(None)
