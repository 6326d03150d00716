"""What passes for a callback, and what does not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from delayhub.receiver import BadCallback, Verifier
from delayhub.webhooks.public_key import new_private_key, public_key_of, sign_by_keys
from delayhub.webhooks.signature import BadSecret, new_secret, sign
from tests.signed_callbacks import CLOCK, SECRET, signed


def test_a_callback_with_a_right_signature_passes() -> None:
    headers = signed("job-1", body=b'{"order": 42}', delayhub_attempt="2", delayhub_redrive="1")

    callback = Verifier(SECRET).verify(headers, b'{"order": 42}')

    assert (callback.id, callback.attempt, callback.redrive, callback.json()) == ("job-1", 2, 1, {"order": 42})


def test_a_body_that_is_no_text_passes_byte_by_byte() -> None:
    body = bytes(range(256))

    assert Verifier(SECRET).verify(signed("job-1", body=body), body).body == body


def test_while_keys_are_replaced_the_old_and_the_new_one_pass() -> None:
    old, new = new_secret(), new_secret()

    for secret in (old, new):
        assert Verifier(new, old).verify(signed("job-1", secret=secret), b"{}").id == "job-1"


def test_a_public_key_checks_v1a_beside_v1_in_either_order() -> None:
    private = new_private_key()
    now = CLOCK.now_ms() // 1000
    by_secret = sign([SECRET], message_id="job-1", timestamp=now, body=b"{}")
    by_key = sign_by_keys([private], message_id="job-1", timestamp=now, body=b"{}")

    for signatures in (f"{by_secret} {by_key}", f"{by_key} {by_secret}"):
        headers = {"webhook-id": "job-1", "webhook-timestamp": str(now), "webhook-signature": signatures}
        for key in (SECRET, public_key_of(private)):
            assert Verifier(key).verify(headers, b"{}").id == "job-1"
        with pytest.raises(BadCallback):
            Verifier(public_key_of(new_private_key())).verify(headers, b"{}")


@pytest.mark.parametrize(
    "change",
    [
        # another job's id
        {"Webhook-Id": "job-2"},
        # another time
        {"Webhook-Timestamp": "1"},
        # an id with a dot makes another split of what is signed possible
        {"Webhook-Id": "job.1"},
        {"Webhook-Id": ""},
        # digits that are none of ASCII
        {"Webhook-Timestamp": "١٢"},
        {"Webhook-Timestamp": ""},
        {"Webhook-Signature": ""},
        {"Webhook-Signature": "v1,"},
        {"Webhook-Signature": "v1,§"},
        # a kind that nothing here checks
        {"Webhook-Signature": "v2," + "A" * 43 + "="},
    ],
)
def test_a_request_that_was_changed_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(BadCallback):
        Verifier(SECRET).verify({**signed("job-1"), **change}, b"{}")


def test_another_body_or_another_secret_is_refused() -> None:
    with pytest.raises(BadCallback, match="no signature by a known key"):
        Verifier(SECRET).verify(signed("job-1"), b"{ }")
    with pytest.raises(BadCallback, match="no signature by a known key"):
        Verifier(new_secret()).verify(signed("job-1"), b"{}")


@pytest.mark.parametrize("ago", [301, -302])
def test_what_is_too_old_or_too_far_ahead_is_refused(ago: int) -> None:
    headers = signed("job-1", ago=ago)

    with pytest.raises(BadCallback, match="too old"):
        Verifier(SECRET).verify(headers, b"{}")
    assert Verifier(SECRET, tolerance=timedelta(minutes=10)).verify(headers, b"{}").id == "job-1"


def test_a_header_that_counts_may_come_once_only() -> None:
    headers = [*signed("job-1").items(), ("webhook-id", "job-2")]

    with pytest.raises(BadCallback, match="webhook-id comes twice"):
        Verifier(SECRET).verify(headers, b"{}")


@pytest.mark.parametrize("keys", [(), ("",), ("whsec_short",), ("whpk_short",), ("whsk_" + "A" * 43 + "=",)])
def test_a_key_that_is_none_is_refused_at_once(keys: tuple[str, ...]) -> None:
    with pytest.raises(BadSecret):
        Verifier(*keys)
