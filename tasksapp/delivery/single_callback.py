"""Sends a single callback, from a process that delivers nothing else: one that serves pages, or a thread beside it."""

from __future__ import annotations

from delayhub.clock import Clock
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.callback import Callback
from tasksapp.delivery.outcomes import CallbackResult


async def send_single(
    callback: Callback, *, guard: AddressGuard, clock: Clock, response_bytes: int, user_agent: str
) -> CallbackResult:
    """What became of the callback, sent by a :class:`Sender` of its own; its connections are closed."""
    # Here, since aiohttp is a fifth of what django.setup() would cost, and most processes never send.
    from tasksapp.delivery.sender import Sender  # noqa: PLC0415  seldom needed

    sender = Sender(guard=guard, clock=clock, response_bytes=response_bytes, user_agent=user_agent)
    try:
        return await sender.send(callback)
    finally:
        await sender.close()
