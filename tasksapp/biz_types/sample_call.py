"""A sample call: one signed callback to a biz type's receiver, sent at once by a person; it makes no job.

It goes the way of every callback, through the sender and the address guard, so it finds what a job would find. It
works while the biz type is disabled or paused, and without Redis.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from django.db import router
from django.utils import timezone

from delayhub.clock import SystemClock
from delayhub.failure_limit import FailureLimit
from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.biz_types.masked_fields import masks_of
from tasksapp.biz_types.target import target_of
from tasksapp.biz_types.token_share import RedisTokenShare
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard, AddressRefused
from tasksapp.delivery.callback import Target
from tasksapp.delivery.outcomes import CallbackResult, Delivered, GiveUp, Retry, Returned, Snooze
from tasksapp.delivery.request_url import BadUrl, request_url
from tasksapp.delivery.sent_request import SentRequest, shown_line
from tasksapp.delivery.single_callback import send_single
from tasksapp.models import AuditEntry, BizType
from tasksapp.models.job_id import new_job_id

if TYPE_CHECKING:
    from tasksapp.delivery.token_keeper import TokenKeeper

#: A sample call waits no longer, whatever the biz type's timeout is: a person and a thread of the web server wait too.
LONGEST_SECONDS = 20.0
#: Sample calls that one process has open at once, so that slow receivers cannot take all threads of a web server.
MOST_AT_ONCE = 2

_free = BoundedSemaphore(MOST_AT_ONCE)


class Busy(Exception):
    """This process has ``MOST_AT_ONCE`` sample calls open already; try again in a moment."""


class Verdict(StrEnum):
    """What a job's attempt would come to with that answer."""

    SUCCEEDS = "succeeds"
    TRIED_AGAIN = "tried again"
    DEAD = "dead"
    NOT_SENT = "not sent"


class AddressVerdict(StrEnum):
    """What the address guard said of the addresses that the host's name leads to."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    #: None was found, or it did not come to that.
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleAnswer:
    """What became of a sample call.

    Args:
        verdict: what a job's attempt would come to.
        reason: why, where it does not succeed; the text that a job has as its last error.
        address: what the address guard said.
        request: the request, with its credentials masked; None where none could be made.
        is_sent: whether the receiver may have got some of it.
        body: what was sent.
        duration_ms: how long it took.
        timeout_seconds: how long it would have waited.
        status_code: of the answer; None where there was none.
        response_headers: of the answer.
        response_body: of the answer, as far as it is kept.
        cancels_others: whether the answer asks to cancel the other jobs of the same business key.
    """

    verdict: Verdict
    reason: str
    address: AddressVerdict
    request: SentRequest | None
    is_sent: bool
    body: str
    duration_ms: int
    timeout_seconds: float
    status_code: int | None = None
    response_headers: dict[str, str]
    response_body: str = ""
    cancels_others: bool = False


def send_sample(biz_type: BizType, *, body: str) -> SampleAnswer:
    """Sends the callback, waits for the answer, and gives back what became of it. Nothing is stored.

    It can be called in any thread, also in one that runs an event loop: that is blocked meanwhile.

    Args:
        biz_type: one with a receiver, as it is stored.
        body: the JSON text that is signed and sent as it is.

    Raises Busy where too many are open already, SecretUnreadable where a secret cannot be decrypted.
    """
    target = target_of(biz_type, now=timezone.now())
    # Nothing of it is stored, and pages hide values of headers from those who may not change the biz type.
    target = replace(target, timeout_seconds=min(target.timeout_seconds, LONGEST_SECONDS), unshown=frozenset())
    if not _free.acquire(blocking=False):
        raise Busy
    try:
        # A thread of its own, since an event loop cannot run inside another one.
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="delayhub-sample-call") as thread:
            return thread.submit(asyncio.run, _send(target, body)).result()
    finally:
        _free.release()


class _NotingGuard(AddressGuard):
    """A guard that remembers what it said."""

    verdict = AddressVerdict.UNKNOWN

    def check(self, text: str, *, scope: int = 0) -> None:
        """Raises AddressRefused where callbacks may not go to that address."""
        try:
            super().check(text, scope=scope)
        except AddressRefused:
            if self.verdict is AddressVerdict.UNKNOWN:
                self.verdict = AddressVerdict.REFUSED
            raise
        self.verdict = AddressVerdict.ALLOWED


async def _send(target: Target, body: str) -> SampleAnswer:
    now = options()
    guard = _NotingGuard(now.allowed_networks)
    result = await send_single(
        target,
        body.encode(),
        message_id=str(new_job_id()),
        guard=guard,
        response_bytes=now.response_bytes,
        is_test=True,
        make_tokens=_tokens if target.grant else None,
        total_seconds=LONGEST_SECONDS if target.grant else None,
    )
    return _answer(result, address=guard.verdict)


def _tokens() -> TokenKeeper:
    """Keeps the token of one call; it asks its server, whatever was heard of that lately."""
    from tasksapp.delivery.token_keeper import TokenKeeper  # noqa: PLC0415  it loads aiohttp, which few processes need

    clock, guard = SystemClock(), AddressGuard(options().allowed_networks)
    return TokenKeeper(guard=guard, clock=clock, share=RedisTokenShare(clock), hold_seconds=0.0, insists=True)


def _answer(result: CallbackResult, *, address: AddressVerdict) -> SampleAnswer:
    verdict, reason, cancels_others, is_sent = Verdict.SUCCEEDS, "", False, True
    match result.outcome:
        case Delivered(cancel_others):
            cancels_others = cancel_others
        case Retry(reason, _, unsent):
            verdict, is_sent = Verdict.TRIED_AGAIN, not unsent
        case Snooze(reason):
            verdict = Verdict.TRIED_AGAIN
        case GiveUp(reason):
            verdict, is_sent = Verdict.DEAD, result.response is not None
        case Returned(reason, _, _):
            verdict, is_sent = Verdict.NOT_SENT, False
    response = result.response
    return SampleAnswer(
        verdict=verdict,
        reason=reason,
        address=address,
        request=result.request,
        is_sent=is_sent,
        body=result.callback.body.decode(),
        duration_ms=result.duration_ms,
        timeout_seconds=result.callback.target.timeout_seconds,
        status_code=response.status_code if response else None,
        response_headers=dict(response.headers) if response else {},
        response_body=response.body if response else "",
        cancels_others=cancels_others,
    )


#: Test calls of one person or key in a minute, in one process: enough to try a receiver, too few to search a network.
MOST, WINDOW_SECONDS = 10, 60.0

_sent = FailureLimit(most=MOST, window_seconds=WINDOW_SECONDS)


class TooManySamples(Exception):
    """The sender has had ``MOST`` sample calls within a minute; the next may go in ``wait_seconds``."""

    def __init__(self, wait_seconds: float) -> None:
        super().__init__(f"{MOST} test calls within a minute are the most; the next may go in {wait_seconds:.0f} s")
        self.wait_seconds = wait_seconds


def send_recorded_sample(biz_type: BizType, *, body: str, sender: Hashable, by: Actor) -> SampleAnswer:
    """Sends a sample call as ``send_sample`` does, and records who sent it and what became of it.

    Args:
        biz_type: one with a receiver, as it is stored.
        body: the JSON text that is signed and sent as it is.
        sender: by what the calls of one person or key are counted.
        by: who sends it, for the audit.

    Raises TooManySamples, and what ``send_sample`` raises.
    """
    if wait := _sent.wait_seconds(sender):
        raise TooManySamples(wait)
    _sent.failed(sender)
    answer = _masked(send_sample(biz_type, body=body), biz_type)
    after = {"verdict": answer.verdict.value, "status_code": answer.status_code, "ms": answer.duration_ms}
    entry = audit.entry(Deed.TEST, by=by, biz_type_id=biz_type.pk, what=biz_type.label, after=after)
    audit.record([entry], using=router.db_for_write(AuditEntry))
    return answer


def _masked(answer: SampleAnswer, biz_type: BizType) -> SampleAnswer:
    """The answer as people and callers see it: with masks, where the biz type has masked fields."""
    masks = masks_of(biz_type, made_at=timezone.now())
    if masks is None:
        return answer
    hide = masks.hiding(answer.body)
    headers = {name: hide(value) for name, value in answer.response_headers.items()}
    shown, body = masks.shown(answer.body), hide(answer.response_body)
    return replace(answer, reason=hide(answer.reason), body=shown, response_headers=headers, response_body=body)


def forget_samples() -> None:
    """Forgets how many sample calls were sent."""
    _sent.forget()


def usual_line(biz_type: BizType) -> str | None:
    """The line of a request to the biz type's own URL, as attempts have it; None where it has none."""
    try:
        return shown_line(biz_type.method, request_url(biz_type.url))
    except BadUrl:
        return None
