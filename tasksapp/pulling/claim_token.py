"""ClaimToken: what a puller brings to end its claim: the job and its lease, as one word."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NoBase64
from hashlib import sha256
from secrets import randbits
from typing import NamedTuple
from uuid import UUID

#: Bytes of a job's id, and of a lease's token.
_ID_BYTES, _LEASE_BYTES = 16, 8
#: Characters of a token: 24 bytes in base64.
LENGTH = 32


class ClaimToken(NamedTuple):
    """The job of a claim, and the token of its lease.

    The lease has 63 random bits of the system's source, so that only who was given it knows it. It needs no signature,
    and so no key whose replacement would end claims.

    Args:
        job_id: the job.
        lease: the token that its row has.
    """

    job_id: UUID
    lease: int

    @classmethod
    def parse(cls, text: str) -> ClaimToken | None:
        """The token in a text; None where it is none."""
        if len(text) != LENGTH or not text.isascii():
            return None
        try:
            raw = urlsafe_b64decode(text)
        except (NoBase64, ValueError):
            return None
        if len(raw) != _ID_BYTES + _LEASE_BYTES:
            return None  # base64 passes over signs that it does not know
        token = cls(UUID(bytes=raw[:_ID_BYTES]), int.from_bytes(raw[_ID_BYTES:]))
        return token if token.lease < 2**63 and str(token) == text else None

    def __str__(self) -> str:
        return urlsafe_b64encode(self.job_id.bytes + self.lease.to_bytes(_LEASE_BYTES)).decode()

    @property
    def mark(self) -> str:
        """What the record of an attempt keeps of it: it recognises the token, and cannot be used as one."""
        return sha256(str(self).encode()).hexdigest()[:16]


def new_lease() -> int:
    """The token of a new lease, which cannot be guessed."""
    return randbits(63)
