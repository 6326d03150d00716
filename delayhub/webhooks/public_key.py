"""Signatures ``v1a`` of Standard Webhooks: ed25519 over the same content, checked by a public key instead of a secret.

A private key is ``whsk_`` and base64 of 32 bytes, a public key ``whpk_`` and base64 of 32 bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from delayhub.webhooks.signature import PUBLIC_PREFIX, SIGNED_BY_KEY, BadSecret, signed_content

PRIVATE_PREFIX = "whsk_"
KEY_BYTES = 32


def new_private_key() -> str:
    """A fresh private key."""
    return PRIVATE_PREFIX + base64.b64encode(Ed25519PrivateKey.generate().private_bytes_raw()).decode()


def public_key_of(private_key: str) -> str:
    """The public key that checks what the private one signs.

    Raises:
        BadSecret: it is no private key.
    """
    return PUBLIC_PREFIX + base64.b64encode(_private(private_key).public_key().public_bytes_raw()).decode()


def sign_by_keys(private_keys: Iterable[str], *, message_id: str, timestamp: int, body: bytes) -> str:
    """Signatures for the ``webhook-signature`` header, one for each private key, the newest first.

    Raises:
        BadSecret: one of them is no private key.
    """
    content = signed_content(message_id, timestamp, body)
    signatures = [_private(key).sign(content) for key in private_keys]
    return " ".join([f"{SIGNED_BY_KEY},{base64.b64encode(signature).decode()}" for signature in signatures])


def is_signed_by(public_key: str, *, signature: bytes, content: bytes) -> bool:
    """Whether the owner of the public key has signed the content.

    Raises:
        BadSecret: it is no public key.
    """
    try:
        _public(public_key).verify(signature, content)
    except InvalidSignature:
        return False
    return True


def check_public_key(public_key: str) -> None:
    """Raises BadSecret where it is no public key."""
    _public(public_key)


@lru_cache(maxsize=1024)
def _private(key: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(_bytes_of(key, PRIVATE_PREFIX, "private"))


@lru_cache(maxsize=1024)
def _public(key: str) -> Ed25519PublicKey:
    try:
        return Ed25519PublicKey.from_public_bytes(_bytes_of(key, PUBLIC_PREFIX, "public"))
    except ValueError as error:
        raise BadSecret(str(error)) from error


def _bytes_of(key: str, prefix: str, kind: str) -> bytes:
    try:
        found = base64.b64decode(key.removeprefix(prefix), validate=True)
    except ValueError:
        found = b""
    if not key.startswith(prefix) or len(found) != KEY_BYTES:
        # The key itself is not in the message: it may be a secret.
        raise BadSecret(f"a {kind} key must be {prefix!r} and base64 of {KEY_BYTES} bytes")
    return found
