"""The verbs of claims: jobs that are pulled."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from delayhub.api_models.claims import Claim, ClaimAnswer, EndedClaim
from delayhub.client.errors import NoRoomToWait
from delayhub.client.request import Request, given, segment
from delayhub.client.synchronous.connection import Connection

#: How long a puller waits for a job, where it says nothing, in seconds.
WAIT_SECONDS = 20
#: How often the site is asked where it has no room for one that waits, in seconds.
POLL_SECONDS = 1.0


class Claims:
    """Claims of jobs whose biz type is pulled. A verb takes a claim, or its token.

    Every verb raises :class:`delayhub.client.ApiError`; those that end or extend a claim raise ClaimLost where it does
    not hold any more.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim(
        self,
        biz_types: Sequence[str],
        *,
        most: int = 1,
        wait: int = WAIT_SECONDS,
        lease: timedelta | float | None = None,
    ) -> Sequence[Claim]:
        """Due jobs of those biz types, which are this program's until their leases end; none where none is due.

        Args:
            biz_types: their codes.
            most: how many jobs at most, up to 100.
            wait: seconds to wait where none is due, up to 30, but for half of the client's timeout at most; 0: not.
            lease: how long each claim lasts, as a timedelta or in seconds; None: the timeout of the biz type.
        """
        # The answer must come before the connection gives up.
        held_back = int(min(wait, self._connection.timeout_seconds / 2))
        body = given(biz_types=list(biz_types), max=most, wait=held_back, lease_seconds=lease)
        over = time.monotonic() + held_back
        while True:
            try:
                return (self._connection.one(ClaimAnswer, Request("POST", "/claims", body=body))).claims
            except NoRoomToWait:  # and none is due
                if (left := over - time.monotonic()) <= 0:
                    return []
            time.sleep(min(left, POLL_SECONDS))

    def done(self, claim: Claim | str, *, note: str = "") -> EndedClaim:
        """The job has succeeded; a note is kept with the attempt."""
        return self._end(claim, "done", note=note or None)

    def fail(
        self,
        claim: Claim | str,
        *,
        reason: str = "",
        retry_in: timedelta | float | None = None,
        dead: bool = False,
        note: str = "",
    ) -> EndedClaim:
        """The attempt failed: the job is tried again by the policy of its biz type, or is dead.

        Args:
            claim: the claim.
            reason: why, for people.
            retry_in: how long until the next attempt, in place of the backoff.
            dead: whether no other attempt could succeed.
            note: is kept with the attempt.
        """
        return self._end(claim, "fail", reason=reason or None, retry_in=retry_in, dead=dead or None, note=note or None)

    def extend(self, claim: Claim | str, *, lease: timedelta | float | None = None) -> EndedClaim:
        """The claim lasts so long from now; None: the timeout of the biz type."""
        return self._end(claim, "extend", lease_seconds=lease)

    def release(self, claim: Claim | str, *, reason: str = "", retry_in: timedelta | float | None = None) -> EndedClaim:
        """Gives the job back: it waits again, at once or for so long, and no attempt is used."""
        return self._end(claim, "release", reason=reason or None, retry_in=retry_in)

    def _end(self, claim: Claim | str, verb: str, **fields: object) -> EndedClaim:
        token = claim if isinstance(claim, str) else claim.token
        # The same token answers the same again, so this may be repeated.
        request = Request("POST", f"/claims/{segment(token)}/{verb}", body=given(**fields), repeatable=True)
        return self._connection.one(EndedClaim, request)
