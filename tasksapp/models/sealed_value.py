"""Values encrypted at rest: AES-GCM, by a key of ``DELAYHUB["ENCRYPTION_KEYS"]`` that each names, bound to their place.

Such a value begins with ``@``, its version and the id of its key; a text goes on in base64. The place (of which biz
type, of which row, which column) is authenticated and not stored: moved elsewhere in the database, it does not open.
"""

from __future__ import annotations

import hmac
from base64 import b64encode, urlsafe_b64decode
from binascii import a2b_base64
from functools import cache
from os import urandom
from typing import TYPE_CHECKING, Any, NamedTuple

from tasksapp.models.encrypted_text import SecretUnreadable, hkdf, keys_at_rest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

#: What every such value begins with, and all there is of an empty ``request``: neither JSON nor '' does.
MARK = "@"
_VERSION = "@1"
_ID_LENGTH, _NONCE_BYTES, _TAG_BYTES = 8, 12, 16
_HEAD = len(_VERSION) + _ID_LENGTH
#: A row keeps so many characters of a short text, such as a reason; of the text itself so many bytes fit in.
SHORT_LENGTH = 500
SHORT_BYTES = (SHORT_LENGTH - _HEAD) // 4 * 3 - _NONCE_BYTES - _TAG_BYTES
#: Hexadecimal digits of a MAC and of its salt, beside the version and the key, as the column of idempotency keys has
#: room.
_SALT_LENGTH = 16
_MAC_LENGTH = 64 - _HEAD - _SALT_LENGTH


class Tampered(SecretUnreadable):
    """What is stored does not belong where it stands: it was changed, or moved, in the database itself."""


class _Key(NamedTuple):
    """What one key of the settings is used for here; each use has a key of its own, derived from it."""

    id: str
    box: AESGCM
    mac: bytes


def seal_text(plain: str, *, place: str) -> str:
    """The text encrypted with the newest key."""
    key = _newest()
    return f"{_VERSION}{key.id}{b64encode(_sealed(key, plain.encode(), place)).decode()}"


def seal_short(plain: str, *, place: str) -> str:
    """The same in ``SHORT_LENGTH`` characters at most, of as much of the text as fits; '' for ''."""
    return seal_text(plain.encode()[:SHORT_BYTES].decode(errors="ignore"), place=place) if plain else ""


def seal_bytes(plain: bytes, *, place: str) -> bytes:
    """The bytes encrypted with the newest key."""
    key = _newest()
    return f"{_VERSION}{key.id}".encode() + _sealed(key, plain, place)


def open_text(stored: str, *, place: str) -> str:
    """The text that was encrypted. Raises SecretUnreadable where its key is missing, Tampered where it was changed."""
    if stored == MARK:
        return ""
    try:
        found = a2b_base64(stored[_HEAD:], strict_mode=True)
    except ValueError as error:
        raise Tampered(str(Tampered.__doc__)) from error
    return _opened(stored[:_HEAD], found, place).decode()


def open_bytes(stored: bytes, *, place: str) -> bytes:
    """The bytes that were encrypted; it raises what ``open_text`` does."""
    return _opened(stored[:_HEAD].decode("ascii", "replace"), stored[_HEAD:], place)


def is_sealed(stored: Any) -> bool:
    """Whether a column's value was encrypted, in a row that has such values."""
    match stored:
        case str():
            return stored.startswith(_VERSION) or stored == MARK
        case bytes() | memoryview():
            return bytes(stored[: len(_VERSION)]) == _VERSION.encode()
    return False


def is_of_newest_key(stored: str | bytes) -> bool:
    """Whether that value was encrypted with the newest key, or has nothing that a key opens."""
    head = stored[:_HEAD] if isinstance(stored, str) else stored[:_HEAD].decode("ascii", "replace")
    return head in {MARK, f"{_VERSION}{_newest().id}"}


def mac_of(text: bytes, *, like: str = "") -> str | None:
    """A MAC of a text, which names its key and has 64 characters. Two of one text differ: rows tell nothing.

    Args:
        text: the text.
        like: the MAC of a text that may be this one: then it is that MAC where it is; None where its key is missing.
    """
    key = _ring(keys_at_rest()).get(key_id_of(like)) if like else _newest()
    if key is None:
        return None
    salt = like[_HEAD : _HEAD + _SALT_LENGTH] or urandom(_SALT_LENGTH // 2).hex()
    return f"{_VERSION}{key.id}{salt}{hmac.digest(key.mac, salt.encode() + text, 'sha256').hex()[:_MAC_LENGTH]}"


def key_id_of(stored: str) -> str:
    """The id of the key that a value or a MAC names."""
    return stored[len(_VERSION) : _HEAD]


def _sealed(key: _Key, plain: bytes, place: str) -> bytes:
    nonce = urandom(_NONCE_BYTES)
    return nonce + key.box.encrypt(nonce, plain, place.encode())


def _opened(head: str, found: bytes, place: str) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415  with the first value, not at each start: 7 MB

    if not head.startswith(_VERSION):
        raise Tampered(str(Tampered.__doc__))
    key = _ring(keys_at_rest()).get(key_id_of(head))
    if key is None:
        raise SecretUnreadable(f"no key of DELAYHUB['ENCRYPTION_KEYS'] has the id {key_id_of(head)!r}: bring it back")
    try:
        return key.box.decrypt(found[:_NONCE_BYTES], found[_NONCE_BYTES:], place.encode())
    except (InvalidTag, ValueError) as error:
        raise Tampered(str(Tampered.__doc__)) from error


def _newest() -> _Key:
    return next(iter(_ring(keys_at_rest()).values()))


@cache
def _ring(keys: tuple[str, ...]) -> dict[str, _Key]:
    """The keys by their ids, the newest first."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  as above

    found: dict[str, _Key] = {}
    for text in keys:
        secret = urlsafe_b64decode(text)
        key = _Key(
            hkdf(secret, info=b"id of a key").hex()[:_ID_LENGTH],
            AESGCM(hkdf(secret, info=b"values at rest")),
            hkdf(secret, info=b"MAC of requests"),
        )
        found.setdefault(key.id, key)
    return found
