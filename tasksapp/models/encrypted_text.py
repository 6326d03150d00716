"""Secrets at rest: sealed (encrypted) with the newest of ``DELAYHUB["ENCRYPTION_KEYS"]``, opened with any of them."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from tasksapp.conf import options

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet


class SecretUnreadable(ImproperlyConfigured):
    """No key of ``DELAYHUB["ENCRYPTION_KEYS"]`` opens a secret: bring the old key back, or set the secret again."""


class SealedText(property):
    """A model attribute whose text is kept encrypted in another field; '' stays ''.

    Reading raises SecretUnreadable where no key fits, so that a page that does not read it still works.

    Args:
        field: name of the TextField that holds the sealed text.
    """

    def __init__(self, field: str) -> None:
        def read(instance: Any) -> str:
            return open_sealed(getattr(instance, field))

        def write(instance: Any, plain: str) -> None:
            setattr(instance, field, seal(plain))

        super().__init__(read, write)
        self.field = field


def seal(plain: str) -> str:
    """The text encrypted; '' for ''."""
    return _box().encrypt(plain.encode()).decode() if plain else ""


def open_sealed(sealed: str) -> str:
    """The text that was sealed. Raises SecretUnreadable where no key opens it."""
    if not sealed:
        return ""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415  with the first secret, not at each start: 7 MB

    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable(str(SecretUnreadable.__doc__)) from error


def opens(sealed: str) -> bool:
    """Whether a key opens the text."""
    try:
        open_sealed(sealed)
    except SecretUnreadable:
        return False
    return True


def reseal(sealed: str) -> str:
    """The same text, sealed with the newest key."""
    return _box().rotate(sealed.encode()).decode() if sealed else ""


def is_newest(sealed: str) -> bool:
    """Whether the text is sealed with the newest key."""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415  as above

    try:
        _box_of(keys_at_rest()[:1]).decrypt(sealed.encode())
    except InvalidToken:
        return False
    return True


def derived_key(purpose: str) -> bytes:
    """32 bytes that follow from the newest key and the purpose, and tell nothing of the key."""
    return hmac.digest(keys_at_rest()[0].encode(), f"delayhub: {purpose}".encode(), "sha256")


def _box() -> MultiFernet:
    return _box_of(keys_at_rest())


def keys_at_rest() -> tuple[str, ...]:
    """The keys that encrypt what is stored, the newest first."""
    keys = options().encryption_keys
    if keys:
        return tuple(keys)
    return tuple(_derived(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS))


@cache
def _box_of(keys: tuple[str, ...]) -> MultiFernet:
    from cryptography.fernet import Fernet, MultiFernet  # noqa: PLC0415  as above

    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError as error:
        raise ImproperlyConfigured(f"DELAYHUB['ENCRYPTION_KEYS'] holds what is no Fernet key: {error}") from error


@cache
def _derived(secret_key: str) -> str:
    return urlsafe_b64encode(hkdf(secret_key.encode(), info=b"secrets at rest")).decode()


def hkdf(secret: bytes, *, info: bytes) -> bytes:
    """32 bytes that follow from the secret and from what they are for, and tell nothing of the secret (RFC 5869)."""
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415  as above
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415  as above

    return HKDF(algorithm=SHA256(), length=32, salt=b"delayhub", info=info).derive(secret)
