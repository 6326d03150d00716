"""Sends a single callback, from a process that delivers nothing else: one that serves pages, or a thread beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from delayhub.clock import SystemClock
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.callback import Callback, Target
from tasksapp.delivery.outcomes import CallbackResult, Failure, Retry, Returned

if TYPE_CHECKING:
    from tasksapp.delivery.dispatcher import Sends
    from tasksapp.delivery.token_keeper import TokenKeeper

#: Longer than such a callback can wait for its access token.
LONGEST_WAIT_SECONDS = 60.0


async def send_single(
    target: Target,
    body: bytes,
    *,
    message_id: str,
    guard: AddressGuard,
    response_bytes: int,
    is_test: bool = False,
    make_tokens: Callable[[], TokenKeeper] | None = None,
    total_seconds: float | None = None,
) -> CallbackResult:
    """What became of a callback of no job, due now, sent by a :class:`Sender` of its own; its connections are closed.

    Args:
        target: where it goes.
        body: the exact bytes.
        message_id: what it has in the place of the id of a job.
        guard: says which addresses may be connected to.
        response_bytes: how much of a response body is read and kept.
        is_test: whether a person sends it to try the receiver.
        make_tokens: makes what keeps access tokens, inside the loop; needed where the target asks for one.
        total_seconds: how long the token and the answer may take together; None for as long as each of them may.
    """
    # Here, since aiohttp is a fifth of what django.setup() would cost, and most processes never send.
    from tasksapp.delivery.authorized_sender import AuthorizedSender  # noqa: PLC0415  seldom needed
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
        lease_ends=clock.monotonic() + target.timeout_seconds + LONGEST_WAIT_SECONDS,
    )
    sender: Sends = Sender(guard=guard, clock=clock, response_bytes=response_bytes)
    if make_tokens is not None:
        sender = AuthorizedSender(sender, tokens=make_tokens(), clock=clock)
    limit = asyncio.timeout(total_seconds)
    try:
        async with limit:
            result = await sender.send(callback)
    except TimeoutError:
        reason = f"no whole answer within {total_seconds:g} s, the access token among them"
        return CallbackResult(callback, Retry(reason, kind=Failure.TIMEOUT), now_ms, clock.now_ms() - now_ms)
    finally:
        await sender.close()
    if limit.expired() and isinstance(result.outcome, Returned):
        return result._replace(outcome=Returned(f"no access token within {total_seconds:g} s"))
    return result
