"""Signatures that the reference library of Standard Webhooks accepts."""

from __future__ import annotations

import base64

import pytest
from standardwebhooks import Webhook

from delayhub.engine import SystemClock
from delayhub.webhooks.signature import new_secret, sign


def headers(signature: str, timestamp: int) -> dict[str, str]:
    return {"webhook-id": "job-1", "webhook-timestamp": str(timestamp), "webhook-signature": signature}


def test_a_signature_is_accepted_by_the_reference_library() -> None:
    secret, now = new_secret(), SystemClock().now_ms() // 1000

    signature = sign([secret], message_id="job-1", timestamp=now, body=b'{"a":1}')

    assert Webhook(secret).verify(b'{"a":1}', headers(signature, now)) == {"a": 1}


def test_while_secrets_rotate_both_accept() -> None:
    old, new, now = new_secret(), new_secret(), SystemClock().now_ms() // 1000

    signature = sign([new, old], message_id="job-1", timestamp=now, body=b"{}")

    for secret in (old, new):
        assert Webhook(secret).verify(b"{}", headers(signature, now)) == {}


def test_a_known_vector() -> None:
    signature = sign(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
        body=b'{"test": 2432232314}',
    )

    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    "secret",
    [
        # not base64
        "whsec_§§§",
        # too short, too long
        "whsec_" + base64.b64encode(b"x" * 23).decode(),
        "whsec_" + base64.b64encode(b"x" * 65).decode(),
        "",
    ],
)
def test_a_secret_that_is_none_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="a signing secret must"):
        sign([secret], message_id="a", timestamp=1, body=b"")
