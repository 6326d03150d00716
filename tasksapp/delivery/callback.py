"""A callback and its target: what is to be sent, to whom, and until when it may begin."""

from __future__ import annotations

from dataclasses import dataclass, field

from tasksapp.delivery.access_token import Grant
from tasksapp.delivery.client_tls import ClientTls

#: The content type of a body that is JSON.
JSON = "application/json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Where callbacks of one biz type go, and how.

    Args:
        biz_type: its code, which receivers are told.
        queue: the biz type itself, of which several tenants may have one of that code; '' where the code says it.
        url: http:// or https://.
        host: the URL's host and port, which share a cap.
        method: POST, PUT or PATCH.
        headers: extra headers.
        unshown: names, in lower case, of those whose values no record keeps: they may be keys.
        content_type: of the bodies.
        authorization: value of the Authorization header; '' for none.
        grant: what an access token for that header is asked for with; None where none is.
        tls: what is of its own in TLS; None for what the system has.
        secrets: signing secrets, all of which sign while one replaces another; none: callbacks are not signed.
        private_keys: keys that sign beside the secrets, by ``v1a``; none costs nothing.
        timeout_seconds: from the first byte of the connection to the last of the response.
        permanent_codes: status codes that are not retried.
        refusal: why nothing may be sent there; '' where it may.
        is_elsewhere: whether it is another host than the biz type's, and so says nothing about that.
        is_untold: whether no log and no span names that host: it is encrypted with its job.
        at_most_once: whether a callback must not be sent again where it is unknown what became of it.
    """

    biz_type: str
    url: str
    host: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = JSON
    authorization: str = field(default="", repr=False)
    grant: Grant | None = None
    tls: ClientTls | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    private_keys: tuple[str, ...] = field(default=(), repr=False)
    timeout_seconds: float = 10.0
    permanent_codes: frozenset[int] = frozenset()
    at_most_once: bool = False
    queue: str = ""
    refusal: str = ""
    is_elsewhere: bool = False
    is_untold: bool = False
    unshown: frozenset[str] = frozenset()

    @property
    def line(self) -> str:
        """What its callbacks wait by."""
        return self.queue or self.biz_type


@dataclass(slots=True, kw_only=True)
class Callback:
    """One attempt to deliver a job.

    Args:
        job_id: the job's id, the same on every attempt.
        token: the lease that its outcome has to bring.
        target: where it goes.
        body: the exact bytes that are signed and sent.
        due_ms: what the caller asked for, Unix ms.
        run_at_ms: when this attempt should begin.
        attempt: its number in this budget, from 1.
        max_attempts: attempts of this budget.
        redrives: how often the job was redriven before it.
        traceparent: W3C trace context; '' for none.
        occurrence_ms: which of its series it is, Unix ms; 0 for none.
        turn: it grows with each job of its flow key that begins; 0 where they are in no order.
        is_out_of_order: whether jobs that come after it in their order may have gone before it.
        flow_key: whose job it is; callbacks of several keys take turns.
        is_test: whether a person sends it to try the receiver, and there is no job.
        lease_ends: monotonic seconds; renewed meanwhile.
        context: the caller's own; it comes back with the result.
    """

    job_id: str
    token: int
    target: Target
    body: bytes
    due_ms: int
    run_at_ms: int
    attempt: int
    max_attempts: int
    redrives: int = 0
    traceparent: str = ""
    occurrence_ms: int = 0
    turn: int = 0
    is_out_of_order: bool = False
    flow_key: str = ""
    is_test: bool = False
    lease_ends: float
    context: object = None
