"""Verifier: whether a request is a callback that DelayHub signed just now."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta

from delayhub.clock import Clock, SystemClock
from delayhub.errors import BadCallback
from delayhub.receiver.callback import ReceivedCallback
from delayhub.webhooks.signature import (
    PUBLIC_PREFIX,
    SIGNED_BY_KEY,
    SIGNED_BY_SECRET,
    key_of,
    mac_of,
    signed_content,
)

#: Without dots: what is signed is ``id.timestamp.body``, where one would make another timestamp possible.
_ID = re.compile(r"[!-\-/-~]{1,200}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
#: Signatures that are looked at: two secrets and two keys while both are replaced, and some more.
MOST_SIGNATURES = 8

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


class Verifier:
    """Checks callbacks by Standard Webhooks, with all keys that are in use.

    Args:
        keys: signing secrets (``whsec_…``, for ``v1``) and public keys (``whpk_…``, for ``v1a``, which needs the
            package ``cryptography``). One that fits is enough, so give both while one replaces the other.
        tolerance: how old a callback may be, and how far ahead its clock.
        clock: where the time comes from.

    Raises:
        BadSecret: one of the keys is none, or there is none at all.
    """

    def __init__(self, *keys: str, tolerance: timedelta = timedelta(minutes=5), clock: Clock | None = None) -> None:
        self._public = tuple(key for key in keys if key.startswith(PUBLIC_PREFIX))
        self._secrets = tuple(key for key in keys if not key.startswith(PUBLIC_PREFIX))
        self._tolerance = tolerance.total_seconds()
        self._clock = clock or SystemClock()
        if not keys:
            key_of("")
        for secret in self._secrets:
            key_of(secret)
        if self._public:
            from delayhub.webhooks import public_key  # noqa: PLC0415  cryptography is not everybody's

            self._public_key = public_key
            for key in self._public:
                public_key.check_public_key(key)

    def verify(self, headers: Headers, body: bytes) -> ReceivedCallback:
        """The callback in a request.

        Args:
            headers: all headers of the request; their names may have capitals.
            body: the bytes as they came: a body that was parsed and written again has another signature.

        Raises:
            BadCallback: it has no right signature, or is too old; the message says which, and may be shown.
        """
        found = lower_case(headers)
        id_, timestamp = found.get("webhook-id", ""), found.get("webhook-timestamp", "")
        if not _ID.fullmatch(id_) or not _TIMESTAMP.fullmatch(timestamp):
            raise BadCallback("webhook-id or webhook-timestamp is missing or wrong")
        # The signature first: who has no key learns nothing about the clock.
        if not self._is_signed(found.get("webhook-signature", ""), signed_content(id_, timestamp, body)):
            raise BadCallback("no signature by a known key")
        if abs(self._clock.now_ms() / 1000 - int(timestamp)) > self._tolerance:
            raise BadCallback("webhook-timestamp is too old, or too far ahead: do both machines' clocks agree?")
        return ReceivedCallback(id_, int(timestamp), body, found)

    def _is_signed(self, header: str, content: bytes) -> bool:
        for signature in header.split(" ")[:MOST_SIGNATURES]:
            version, _, encoded = signature.partition(",")
            try:
                given = base64.b64decode(encoded, validate=True)
            except ValueError:
                continue
            if version == SIGNED_BY_SECRET and any(
                hmac.compare_digest(given, mac_of(secret, content)) for secret in self._secrets
            ):
                return True
            if version == SIGNED_BY_KEY and any(
                self._public_key.is_signed_by(key, signature=given, content=content) for key in self._public
            ):
                return True
        return False


def lower_case(headers: Headers) -> dict[str, str]:
    """The headers by their names in lower case.

    Raises:
        BadCallback: one that counts comes twice, so that two programs may read two things in one request.
    """
    found: dict[str, str] = {}
    for name, value in headers.items() if isinstance(headers, Mapping) else headers:
        key = name.lower()
        if key in found and key.startswith(("webhook-", "delayhub-")):
            raise BadCallback(f"the header {key} comes twice")
        found[key] = value
    return found
