"""The receiver's answers."""

from __future__ import annotations

import base64
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from delayhub.clock import SystemClock
from delayhub.demo.receiver import Received, Receiver, read_received
from delayhub.demo.samples import CLOSE_ORDER, PUSH_INVOICE, SEND_REMINDER, SampleBizType

SECRET = f"whsec_{base64.b64encode(b'a secret of thirty-two bytes ...').decode()}"
BODY = b'{"order":42}'


@pytest.fixture
def receiver() -> Receiver:
    return Receiver(secret=SECRET, log=io.StringIO())


def signed(body: bytes = BODY, *, job_id: str = "job-1", secret: str = SECRET) -> dict[str, str]:
    now = datetime.fromtimestamp(SystemClock().now_ms() // 1000, UTC)
    return {
        "webhook-id": job_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(job_id, now, body.decode()),
    }


@pytest.mark.parametrize(
    ("sample", "answers"),
    [
        (CLOSE_ORDER, [204, 204, 204]),
        (SEND_REMINDER, [503, 503, 204]),  # fails twice
        (PUSH_INVOICE, [500, 500, 500]),  # always fails
    ],
)
def test_a_signed_callback_is_answered_as_its_biz_type_says(
    receiver: Receiver, sample: SampleBizType, answers: list[int]
) -> None:
    headers = signed()

    assert [receiver.answer(sample, headers, BODY).status for _ in answers] == answers


def test_failures_are_counted_for_each_job(receiver: Receiver) -> None:
    for job_id in ("a", "b"):
        headers = signed(job_id=job_id)
        assert [receiver.answer(SEND_REMINDER, headers, BODY).status for _ in range(3)] == [503, 503, 204]


@pytest.mark.parametrize(
    ("signed_body", "secret", "changes", "body"),
    [
        (BODY, SECRET, {"webhook-signature": ""}, BODY),  # not signed
        (BODY, SECRET, {}, b'{"order":43}'),  # another body
        (BODY, "whsec_b3RoZXI=", {}, BODY),  # another secret
        (BODY, SECRET, {"webhook-timestamp": "1"}, BODY),  # too old
        (BODY, SECRET, {"webhook-signature": "nonsense"}, BODY),
        (b"not JSON", SECRET, {}, b"not JSON"),
    ],
)
def test_what_is_not_signed_well_is_refused(
    receiver: Receiver, signed_body: bytes, secret: str, changes: dict[str, str], body: bytes
) -> None:
    received = receiver.answer(CLOSE_ORDER, signed(signed_body, secret=secret) | changes, body)

    assert (received.status, received.verified) == (401, False)


def test_a_line_that_is_still_being_written_is_not_read(tmp_path: Path) -> None:
    log = tmp_path / "received.jsonl"
    assert list(read_received(log)) == []

    log.write_text('{"job_id": "a", "biz_type": "b", "at_ms": 1, "verified": true, "status": 204}\n{"job_id": "b"')

    assert list(read_received(log)) == [Received("a", "b", 1, verified=True, status=204)]
