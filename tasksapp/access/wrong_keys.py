"""Wrong API keys, counted by the address that sends them."""

from __future__ import annotations

import logging

from delayhub.failure_limit import FailureLimit

logger = logging.getLogger(__name__)

#: Wrong keys of one address after which it is asked to wait, and how long they count, from the first of them.
MOST, WINDOW_SECONDS = 20, 60.0

_limit = FailureLimit(most=MOST, window_seconds=WINDOW_SECONDS)


def count_wrong_key(address: str) -> float:
    """Counts a wrong key from that address; gives back for how many seconds it should send none, 0 for no wait.

    Only wrong keys come here: a right one passes, whatever else its address sends (decision 20).
    """
    wait = _limit.wait_seconds(address)
    if wait == 0 and _limit.failed(address) == MOST:
        logger.warning(
            "%s sent %d wrong API keys within %d s; further ones are answered with 429 until that time is over",
            address, MOST, WINDOW_SECONDS, extra={"action": "wrong_keys", "address": address},
        )  # fmt: skip
    return wait


def forget_wrong_keys() -> None:
    """Forgets all that were counted."""
    _limit.forget()
