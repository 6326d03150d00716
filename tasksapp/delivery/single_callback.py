"""Sends a single callback, from a process that delivers nothing else: one that serves pages, or a thread beside it."""

from __future__ import annotations

from delayhub.clock import SystemClock
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.callback import Callback, Target
from tasksapp.delivery.outcomes import CallbackResult


async def send_single(
    target: Target, body: bytes, *, message_id: str, guard: AddressGuard, response_bytes: int, is_test: bool = False
) -> CallbackResult:
    """What became of a callback of no job, due now, sent by a :class:`Sender` of its own; its connections are closed.

    Args:
        target: where it goes.
        body: the exact bytes.
        message_id: what it has in the place of the id of a job.
        guard: says which addresses may be connected to.
        response_bytes: how much of a response body is read and kept.
        is_test: whether a person sends it to try the receiver.
    """
    # Here, since aiohttp is a fifth of what django.setup() would cost, and most processes never send.
    from tasksapp.delivery.sender import Sender  # noqa: PLC0415  seldom needed

    clock = SystemClock()
    now_ms = clock.now_ms()
    callback = Callback(
        job_id=message_id,
        token=0,
        target=target,
        body=body,
        due_ms=now_ms,
        run_at_ms=now_ms,
        attempt=1,
        max_attempts=1,
        is_test=is_test,
        lease_ends=clock.monotonic() + target.timeout_seconds,
    )
    sender = Sender(guard=guard, clock=clock, response_bytes=response_bytes)
    try:
        return await sender.send(callback)
    finally:
        await sender.close()
