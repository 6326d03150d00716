"""Puller: claims jobs and calls a function with each, in threads, while it extends their leases."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from delayhub.api_models.claims import Claim
from delayhub.client.errors import ApiError, ClaimLost, RateLimited, ServerError, Unreachable
from delayhub.client.synchronous.client import Client
from delayhub.errors import DelayHubError, OptionError
from delayhub.snooze import Snooze

logger: logging.Logger = logging.getLogger(__name__)

Handler = Callable[[Claim], object]

#: How long a reason may be, and a note.
_REASON, _NOTE = 400, 2_000
#: How long a puller rests after the site could not be asked, at first and at most, in seconds.
FIRST_REST, LONGEST_REST = 0.5, 15.0
#: The longest rest that a site may ask for.
LONGEST_ASKED = 3_600.0


class TryAgain(DelayHubError):
    """Raised by a handler: the attempt failed, and the next one comes in ``seconds``; None: by the backoff."""

    def __init__(self, reason: str, *, seconds: float | None = None) -> None:
        super().__init__(reason)
        self.seconds = seconds


class GiveUp(DelayHubError):
    """Raised by a handler: the attempt failed, and no other could succeed. The job is dead."""


class Puller:
    """Claims jobs until it is stopped, and calls a handler with each claim.

    A handler that returns has done the job; of a text that it returns 2 000 characters are kept as a note. One that
    raises has failed: TryAgain and GiveUp say what follows, all other errors leave that to the biz type; Snooze uses no
    attempt. While it runs, its lease is extended at each third of it.

    Args:
        client: a client of the site; threads share it.
        biz_types: the codes of biz types that are pulled.
        handler: is called with each claim, in a thread.
        concurrency: how many handlers run at once, at most.
        lease_seconds: how long a claim outlives this process.
        wait: seconds to wait for a job in one request, up to 30.
    """

    def __init__(
        self,
        client: Client,
        biz_types: Sequence[str],
        handler: Handler,
        *,
        concurrency: int = 1,
        lease_seconds: float = 60.0,
        wait: int = 20,
    ) -> None:
        if concurrency < 1 or lease_seconds < 1:
            raise OptionError("concurrency and lease_seconds must be at least 1")
        self._client = client
        self._biz_types = list(biz_types)
        self._handler = handler
        self._concurrency = concurrency
        self._lease_seconds = lease_seconds
        self._wait = wait
        self._held: dict[str, Claim] = {}
        self._changed = threading.Condition()
        self._stopped = threading.Event()

    def run(self, *, until_none_is_due: bool = False) -> int:
        """Works until :meth:`stop` is called; gives back how many jobs it has claimed.

        Args:
            until_none_is_due: whether it ends as soon as no job is due, in place of waiting for one.

        Raises ApiError where the site refuses for good, such as a key without the scope; jobs in hand are ended first.
        """
        claimed = 0
        over = threading.Event()
        keeper = threading.Thread(target=self._keep_leases, args=[over], name="delayhub-leases", daemon=True)
        keeper.start()
        try:
            with ThreadPoolExecutor(self._concurrency, thread_name_prefix="delayhub-pull") as pool:
                while free := self._free():
                    claims = self._claim(free, wait=0 if until_none_is_due else self._wait)
                    claimed += len(claims)
                    for claim in claims:
                        self._hold(claim)
                        pool.submit(self._work, claim)
                    if until_none_is_due and not claims:
                        break
        finally:
            over.set()
            keeper.join()
        return claimed

    def stop(self) -> None:
        """Claims nothing more; handlers that run are waited for. May be called in a signal's handler."""
        self._stopped.set()

    def _free(self) -> int:
        """How many more jobs may be claimed, once that is one at least; 0 where it was stopped."""
        with self._changed:
            while len(self._held) >= self._concurrency and not self._stopped.is_set():
                # A signal's handler sets only the event, since it may interrupt who holds the condition.
                self._changed.wait(0.5)
            return 0 if self._stopped.is_set() else self._concurrency - len(self._held)

    def _claim(self, free: int, *, wait: int) -> Sequence[Claim]:
        rest = FIRST_REST
        while not self._stopped.is_set():
            try:
                found = self._client.claims.claim(
                    self._biz_types, most=min(free, 100), wait=wait, lease=self._lease_seconds
                )
            except (RateLimited, ServerError, Unreachable) as error:
                logger.warning("nothing could be claimed, trying again: %s", error)
                asked = getattr(error, "retry_after", None)
                self._stopped.wait(rest if asked is None else min(asked, LONGEST_ASKED))
                rest = min(rest * 2, LONGEST_REST)
                continue
            if self._stopped.is_set():
                self._give_back(found)
                return []
            return found
        return []

    def _work(self, claim: Claim) -> None:
        try:
            self._end(claim)
        except ClaimLost as error:
            logger.warning("job %s was not this program's any more when it was done: %s", claim.job_id, error)
        except DelayHubError as error:
            logger.error("the end of job %s could not be said: %s", claim.job_id, error)  # noqa: TRY400  the sentence says all
        finally:
            with self._changed:
                self._held.pop(claim.token, None)
                self._changed.notify_all()

    def _end(self, claim: Claim) -> None:
        """Calls the handler, and says what came of it."""
        claims = self._client.claims
        try:
            result = self._handler(claim)
        except TryAgain as error:
            claims.fail(claim, reason=_told(str(error), most=_REASON), retry_in=error.seconds)
        except Snooze as error:
            claims.release(claim, reason=_told(str(error), most=_REASON), retry_in=error.seconds)
        except GiveUp as error:
            claims.fail(claim, reason=_told(str(error), most=_REASON), dead=True)
        except Exception as error:
            logger.exception("job %s failed", claim.job_id)
            claims.fail(claim, reason=_told(f"{type(error).__name__}: {error}", most=_REASON))
        else:
            claims.done(claim, note=_told(result, most=_NOTE) if isinstance(result, str) else "")

    def _hold(self, claim: Claim) -> None:
        with self._changed:
            self._held[claim.token] = claim

    def _keep_leases(self, over: threading.Event) -> None:
        """Extends the leases of all jobs in hand, until it is over."""
        while not over.wait(self._lease_seconds / 3):
            for claim in list(self._held.values()):
                try:
                    self._client.claims.extend(claim, lease=self._lease_seconds)
                except ClaimLost as error:
                    # The handler goes on; what it says at its end will be refused.
                    logger.warning("job %s is not this program's any more: %s", claim.job_id, error)
                except ApiError as error:
                    logger.warning("the lease of job %s was not extended: %s", claim.job_id, error)

    def _give_back(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            try:
                self._client.claims.release(claim, reason="the puller stops")
            except ApiError as error:
                logger.warning("job %s stays claimed until its lease ends: %s", claim.job_id, error)


def _told(text: str, *, most: int) -> str:
    """The text as the site takes it: it would refuse a longer one, NUL, and half of a surrogate pair."""
    return text.replace("\0", "").encode(errors="replace").decode()[:most]
