"""Sample calls that are counted and recorded: how people in the admin and callers of the API send them."""

from __future__ import annotations

from collections.abc import Hashable

from django.db import router

from delayhub.failure_limit import FailureLimit
from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.biz_types.sample_call import SampleAnswer, send_sample
from tasksapp.models import AuditEntry, BizType

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
    answer = send_sample(biz_type, body=body)
    after = {"verdict": answer.verdict.value, "status_code": answer.status_code, "ms": answer.duration_ms}
    entry = audit.entry(Deed.TEST, by=by, biz_type_id=biz_type.pk, what=biz_type.label, after=after)
    audit.record([entry], using=router.db_for_write(AuditEntry))
    return answer


def forget_samples() -> None:
    """Forgets how many sample calls were sent."""
    _sent.forget()
