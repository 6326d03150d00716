"""Signatures ``v1a`` beside ``v1`` in one header, and the libraries that receivers have."""

from __future__ import annotations

import base64

import pytest
import standardwebhooks
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from delayhub.webhooks.public_key import is_signed_by, new_private_key, public_key_of, sign_by_keys
from delayhub.webhooks.signature import BadSecret, new_secret, sign
from tests.signed_callbacks import CLOCK

BODY = b'{"a":1}'


def bytes_of(key: str) -> bytes:
    return base64.b64decode(key.removeprefix("whpk_"))


@pytest.mark.parametrize("first", ["v1", "v1a"])
def test_libraries_for_v1_accept_a_header_that_has_both(first: str) -> None:
    import svix  # here, since it takes 0.3 s, which all test processes would spend

    secret, private, now = new_secret(), new_private_key(), CLOCK.now_ms() // 1000
    signatures = [
        sign([secret], message_id="job-1", timestamp=now, body=BODY),
        sign_by_keys([private], message_id="job-1", timestamp=now, body=BODY),
    ]
    if first == "v1a":
        signatures.reverse()
    headers = {"webhook-id": "job-1", "webhook-timestamp": str(now), "webhook-signature": " ".join(signatures)}

    assert standardwebhooks.Webhook(secret).verify(BODY, headers) == {"a": 1}
    svix.Webhook(secret).verify(BODY, headers)
    with pytest.raises(svix.WebhookVerificationError):
        svix.Webhook(secret).verify(BODY + b" ", headers)


def test_a_signature_is_what_cryptography_checks_by_the_public_key() -> None:
    old, new = new_private_key(), new_private_key()

    signatures = sign_by_keys([new, old], message_id="job-1", timestamp=1, body=BODY).split(" ")

    assert [signature[:4] for signature in signatures] == ["v1a,", "v1a,"]
    content = b'job-1.1.{"a":1}'
    for private, signature in zip((new, old), signatures, strict=True):
        public = public_key_of(private)
        given = base64.b64decode(signature[4:])
        Ed25519PublicKey.from_public_bytes(bytes_of(public)).verify(given, content)
        assert is_signed_by(public, signature=given, content=content)
        assert not is_signed_by(public, signature=given, content=content + b" ")
        with pytest.raises(InvalidSignature):
            Ed25519PublicKey.from_public_bytes(bytes_of(public)).verify(given, content + b" ")


def test_a_private_key_is_not_guessed_from_what_is_none_and_is_not_in_the_message() -> None:
    for wrong in ("", "whsec_" + "A" * 44, "whsk_short", new_private_key().replace("whsk_", "whpk_")):
        with pytest.raises(BadSecret) as refused:
            public_key_of(wrong)
        assert wrong == "" or wrong not in str(refused.value)
