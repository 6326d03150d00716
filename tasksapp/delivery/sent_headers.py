"""SentHeaders: the headers of a request as the record of an attempt keeps them, and how they are built again.

Whole they would be some 500 bytes of JSON for each attempt, which cost PostgreSQL 30 µs of 130 for all of an outcome.
Most are the same for all, or are told by the job's id and by the attempt's own columns. So only the rest is kept, some
70 bytes. The headers that are sent are made here too, so that both stay alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from delayhub.clock import moment
from tasksapp.delivery.sent_request import MASK

#: The header with the signature.
SIGNATURE = "webhook-signature"

#: What all callbacks of a target share: the user agent and the code of the biz type, then where there are any the pairs
#: of headers that the biz type adds, and the masked authorization. Or only all pairs, where these are not enough.
Head = Sequence[Any]


class SentHeaders(NamedTuple):
    """What is kept of headers, in the order in which it is stored: as a JSON array.

    Args:
        due_ms: what the caller asked for, Unix ms; the job's row may be moved later.
        attempt: its number in this budget.
        max_attempts: attempts of this budget.
        redrives: how often the job was redriven before it.
        length: bytes of the body.
        is_signed: whether there was a signature.
        is_test: whether a person sent it to try the receiver.
        traceparent: W3C trace context; '' for none.
        head: what all callbacks of the target share.
        occurrence_ms: which of its series the job is, Unix ms; 0 for none.
        turn: it grows with each job of its flow key that begins; 0 where they are in no order.
        is_out_of_order: whether jobs that come after it in their order may have gone before it.
    """

    due_ms: int
    attempt: int
    max_attempts: int
    redrives: int
    length: int
    is_signed: bool
    is_test: bool
    traceparent: str
    head: Head
    occurrence_ms: int = 0
    turn: int = 0
    is_out_of_order: bool = False

    def kept(self) -> Sequence[Any]:
        """What the record of an attempt stores: nothing of order where there is none."""
        return self if self.turn else self[:-2]


def head_of(headers: Mapping[str, str], *, line: str, biz_type: str, user_agent: str) -> Head:
    """What is kept of the masked headers that all callbacks of a target share."""
    authorization = headers.get("Authorization", "")
    usual = _headers_of_head((user_agent, biz_type, [], authorization), line=line)
    added = [[name, value] for name, value in headers.items() if name not in usual]
    head: Head = (user_agent, biz_type, added, authorization) if added or authorization else (user_agent, biz_type)
    # A biz type may replace or remove what is usual.
    is_enough = list(_headers_of_head(head, line=line).items()) == list(headers.items())
    return head if is_enough else ([[name, value] for name, value in headers.items()],)


def own_lines(sent: SentHeaders, *, job_id: str, started_ms: int, lateness_ms: int) -> str:
    """The header lines that only one callback has, without its signature and its length."""
    # One text for what all have: a dict, joined, takes Python 1.6 µs more.
    due = moment(sent.due_ms).isoformat(timespec="milliseconds")
    lines = (
        f"webhook-id: {job_id}\r\nwebhook-timestamp: {started_ms // 1000}\r\n"
        f"delayhub-due-at: {due}\r\ndelayhub-lateness-ms: {lateness_ms}\r\n"
        f"delayhub-attempt: {sent.attempt}\r\ndelayhub-max-attempts: {sent.max_attempts}\r\n"
    )
    if sent.redrives:
        lines += f"delayhub-redrive: {sent.redrives}\r\n"
    if sent.occurrence_ms:
        lines += f"delayhub-occurrence-at: {moment(sent.occurrence_ms).isoformat(timespec='milliseconds')}\r\n"
    if sent.turn:
        lines += f"delayhub-turn: {sent.turn}\r\n"
        if sent.is_out_of_order:
            lines += "delayhub-out-of-order: true\r\n"
    if sent.is_test:
        lines += "delayhub-test: 1\r\n"
    if sent.traceparent:
        lines += f"traceparent: {sent.traceparent}\r\n"
    return lines


def shown_again(
    stored: Mapping[str, str] | Sequence[Any], *, line: str, job_id: str, started_ms: int, lateness_ms: int
) -> dict[str, str]:
    """All headers as they were sent, in order, secrets masked.

    Args:
        stored: what the record has: the values of SentHeaders, or the headers themselves.
        line: the request line of the record.
        job_id: the job's id.
        started_ms: when the attempt began, Unix ms.
        lateness_ms: how late that was.
    """
    if isinstance(stored, Mapping):
        return dict(stored)
    sent = SentHeaders(*stored)
    headers = _headers_of_head(sent.head, line=line)
    lines = own_lines(sent, job_id=job_id, started_ms=started_ms, lateness_ms=lateness_ms)
    headers |= dict(line.split(": ", 1) for line in lines.split("\r\n")[:-1])
    if sent.is_signed:
        headers[SIGNATURE] = MASK
    return {**headers, "Content-Length": str(sent.length)}


def _headers_of_head(head: Head, *, line: str) -> dict[str, str]:
    if len(head) == 1:
        return dict(head[0])
    user_agent, biz_type, added, authorization = (*head, [], "")[:4]
    headers = {
        "Host": urlsplit(line.partition(" ")[2]).netloc,
        **dict(added),
        "Content-Type": "application/json",
        "User-Agent": user_agent,
        "Accept-Encoding": "identity",
        "delayhub-biz-type": biz_type,
    }
    if authorization:
        headers["Authorization"] = authorization
    return {**headers, "Accept": "*/*"}
